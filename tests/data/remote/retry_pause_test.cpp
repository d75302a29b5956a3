#include "impart/data/remote/retry_pause.h"

#include <set>

#include <gtest/gtest.h>

namespace impart::data {
namespace {

using namespace std::chrono_literals;

TEST(RetryPause, DoublesUpToTenSecondsAndIsUpToHalfShorter) {
  RetryPause pause;
  std::chrono::milliseconds longest = 100ms;
  for (std::uint32_t failures = 1; failures <= 20; ++failures) {
    const auto waited = pause.after(failures, 0s);
    EXPECT_LE(waited, longest) << failures;
    EXPECT_GE(waited, longest / 2) << failures;
    longest = std::min<std::chrono::milliseconds>(2 * longest, 10s);
  }
}

TEST(RetryPause, IsNotTheSameEachTime) {
  RetryPause pause;
  std::set<std::int64_t> seen;
  for (int i = 0; i < 50; ++i) seen.insert(pause.after(6, 0s).count());
  EXPECT_GT(seen.size(), 10u);
}

TEST(RetryPause, WaitsAsLongAsTheServerAsksButNotLongerThanAMinute) {
  RetryPause pause;
  EXPECT_EQ(pause.after(1, 7s), 7000ms);
  EXPECT_EQ(pause.after(1, 3600s), 60000ms);
}

}  // namespace
}  // namespace impart::data

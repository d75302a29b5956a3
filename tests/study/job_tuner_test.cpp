#include "impart/study/job_tuner.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace impart::study {
namespace {

/// Ends runs one after the other, each as much later as `seconds_per_run` says for the number that
/// the tuner has at a time; returns the numbers that it tried.
template <class SecondsPerRun>
std::vector<std::uint32_t> tune(JobTuner& tuner, SecondsPerRun seconds_per_run) {
  std::vector<std::uint32_t> tried;
  double now = 1000;
  for (int ends = 0; ends < 1000 && !tuner.has_found(); ++ends) {
    if (tried.empty() || tried.back() != tuner.jobs()) tried.push_back(tuner.jobs());
    now += seconds_per_run(tuner.jobs());
    tuner.note_end(now);
  }
  return tried;
}

TEST(JobTuner, DoublesAsLongAsItHelpsAndGoesBackToWhatWasBest) {
  JobTuner tuner(32);
  const auto tried = tune(tuner, [](std::uint32_t jobs) { return 10.0 / std::min(jobs, 4u); });
  EXPECT_EQ(tried, (std::vector<std::uint32_t>{1, 2, 4, 8}));
  EXPECT_TRUE(tuner.has_found());
  EXPECT_EQ(tuner.jobs(), 4u);
}

TEST(JobTuner, StaysAtOneWhereMoreAreSlower) {
  JobTuner tuner(32);
  tune(tuner, [](std::uint32_t jobs) { return 5.0 * jobs; });
  EXPECT_EQ(tuner.jobs(), 1u);
}

TEST(JobTuner, NeverTakesMoreThanTheMost) {
  JobTuner tuner(6);
  const auto tried = tune(tuner, [](std::uint32_t jobs) { return 10.0 / jobs; });
  EXPECT_EQ(tried, (std::vector<std::uint32_t>{1, 2, 4, 6}));
  EXPECT_EQ(tuner.jobs(), 6u);
}

TEST(JobTuner, LetsRunsByThatWereStartedWithFewerBesideThem) {
  JobTuner tuner(32);
  tuner.note_end(100);
  tuner.note_end(110);  // one at a time: 10 s each
  ASSERT_EQ(tuner.jobs(), 2u);
  tuner.note_end(190);  // started alone
  tuner.note_end(200);
  tuner.note_end(204);
  tuner.note_end(208);  // 4 s each
  EXPECT_EQ(tuner.jobs(), 4u);
}

TEST(JobTuner, ChangesNothingOnceItHasFound) {
  JobTuner tuner(1);
  tuner.note_end(1);
  tuner.note_end(2);
  ASSERT_TRUE(tuner.has_found());
  for (int i = 3; i < 20; ++i) tuner.note_end(i);
  EXPECT_EQ(tuner.jobs(), 1u);
}

}  // namespace
}  // namespace impart::study

#include "impart/importance/known_importance.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace impart::importance {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinite = std::numeric_limits<float>::infinity();

TEST(KnownImportance, GivesDivergedExamplesTheLargestOfTheOthers) {
  std::vector<float> values = {1, 9, 3, kInfinite};
  settle_importance(values, std::vector<std::uint32_t>{0, 1, 0, 0}, {});
  EXPECT_EQ(values, (std::vector<float>{1, 3, 3, 3}));
}

TEST(KnownImportance, KeepsWhatWasKnownBefore) {
  std::vector<float> values = {kNone, 2, kNone};
  settle_importance(values, {}, std::vector<float>{7, 8, kNone});
  EXPECT_EQ(values[0], 7);
  EXPECT_EQ(values[1], 2);
  fill_unknown(values);
  EXPECT_EQ(values[2], 4.5f);
}

TEST(KnownImportance, IsZeroIfNothingIsKnown) {
  std::vector<float> values = {kNone, kNone};
  settle_importance(values, {}, {});
  fill_unknown(values);
  EXPECT_EQ(values, (std::vector<float>{0, 0}));
}

}  // namespace
}  // namespace impart::importance

#include "impart/statistics/looks.h"

#include <cmath>

#include <gtest/gtest.h>

#include "impart/core/error.h"

namespace impart::statistics {
namespace {

using Counts = std::vector<std::uint64_t>;

TEST(Looks, HalveTheSeedsDownToTheFewest) {
  EXPECT_EQ(plan_looks(10, 200), (Counts{13, 25, 50, 100, 200}));
  EXPECT_EQ(plan_looks(13, 200), (Counts{13, 25, 50, 100, 200}));
  EXPECT_EQ(plan_looks(14, 200), (Counts{25, 50, 100, 200}));
  EXPECT_EQ(plan_looks(2, 5), (Counts{2, 3, 5}));
  EXPECT_EQ(plan_looks(7, 7), (Counts{7}));
  EXPECT_THROW(plan_looks(1, 7), ConfigError);
  EXPECT_THROW(plan_looks(8, 7), ConfigError);
}

TEST(Looks, ShareTheChanceToBeWrongAmongArmsAndLooks) {
  EXPECT_EQ(interval_confidence({}, 7), 0.95) << "one look: intervals of single arms";
  EXPECT_NEAR(interval_confidence({.looks = 5}, 2), 0.995, 1e-15);
}

const ArmRuns kBaseline{.name = "vanilla", .values = {10, 11, 12, 13}, .seeds = {1, 2, 3, 4}};

TEST(Looks, SeeTheWidestOfThePairedIntervals) {
  const ArmRuns arms[] = {{.name = "steady", .values = {11, 12, 13, 14}, .seeds = {1, 2, 3, 4}},
                          {.name = "noisy", .values = {14, 12, 15, 10}, .seeds = {4, 2, 3, 1}},
                          {.name = "lone", .values = {99}, .seeds = {1}},
                          {.name = "failed", .values = {}}};
  const auto widest = widest_interval(kBaseline, arms, {.looks = 2});
  ASSERT_TRUE(widest);
  EXPECT_EQ(widest->arm, "noisy");
  // Differences 0, 1, 3, 1; t of 3 degrees at 0.05 / (2 looks · 4 arms), two-sided: 6.8952.
  const double std = std::sqrt((1.25 * 1.25 + 2 * 0.25 * 0.25 + 1.75 * 1.75) / 3);
  EXPECT_NEAR(widest->half_width, 6.8952 * std / 2, 2e-4);
}

TEST(Looks, SeeNothingWithoutPairs) {
  const ArmRuns arms[] = {{.name = "lone", .values = {99, 98}, .seeds = {1, 9}}};
  EXPECT_FALSE(widest_interval(kBaseline, arms, {}));
  EXPECT_FALSE(widest_interval({.name = "failed", .values = {}}, arms, {}));
}

TEST(Looks, MakeClaimsAndIntervalsMoreCareful) {
  const ArmRuns arms[] = {
      {.name = "stripes", .values = {10.5, 11.4, 12.6, 13.5}, .seeds = {1, 2, 3, 4}}};
  const auto one = compare_arms(kBaseline, arms, {});
  const auto five = compare_arms(kBaseline, arms, {.looks = 5});
  EXPECT_NEAR(*five.arms[0].adjusted_p, 5 * *one.arms[0].adjusted_p, 1e-15);
  EXPECT_LT(five.arms[0].interval->low, one.arms[0].interval->low);
  EXPECT_GT(*five.arms[0].detectable, *one.arms[0].detectable);
}

}  // namespace
}  // namespace impart::statistics

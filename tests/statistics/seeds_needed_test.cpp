// Seeds that are said to be needed show the difference as often as was asked for, by simulation.

#include "impart/statistics/seeds_needed.h"

#include <cmath>

#include <gtest/gtest.h>

#include "impart/core/random.h"

namespace impart::statistics {
namespace {

/// Differences to a baseline that is 0 everywhere.
ArmRuns draw_arm(std::size_t seeds, double mean, RandomStream& random) {
  ArmRuns arm{.name = "arm", .values = {}};
  for (std::size_t seed = 0; seed < seeds; ++seed) {
    arm.values.push_back(mean + 0.4 * random.normal());
    arm.seeds.push_back(seed);
  }
  return arm;
}

ArmRuns zeros(std::size_t seeds) {
  ArmRuns arm{.name = "zero", .values = std::vector<double>(seeds, 0.0)};
  for (std::size_t seed = 0; seed < seeds; ++seed) arm.seeds.push_back(seed);
  return arm;
}

/// The share of samples in which the corrected test sees the difference.
double share_seen(std::size_t seeds, double difference, const PowerSpec& spec) {
  constexpr int kSamples = 3000;
  RandomStream random({.seed = seeds, .purpose = Purpose("seeds-needed-test")});
  int seen = 0;
  for (int i = 0; i < kSamples; ++i) {
    const ArmRuns arm = draw_arm(seeds, difference, random);
    seen += *student_test(arm.values).p <= spec.alpha / spec.arms ? 1 : 0;
  }
  return static_cast<double>(seen) / kSamples;
}

TEST(SeedsNeeded, ShowTheDifferenceAsOftenAsAsked) {
  RandomStream random({.seed = 1, .purpose = Purpose("seeds-needed-test")});
  const std::vector<ArmRuns> many = {
      draw_arm(20'000, 0, random)};  // its std is 0.4 all but exactly
  for (const std::uint32_t arms : {1u, 6u}) {
    const PowerSpec spec{.arms = arms};
    const ArmPower power = seeds_needed(zeros(20'000), many, 0.2, spec).front();
    EXPECT_NEAR(share_seen(*power.needed, 0.2, spec), 0.8, 0.025) << arms;  // 3.5 standard errors
    EXPECT_LT(share_seen(*power.needed / 2, 0.2, spec), 0.6) << arms;
  }
}

TEST(SeedsNeeded, AtWorstAreEnoughInNineOfTenStudies) {
  RandomStream random({.seed = 2, .purpose = Purpose("seeds-needed-test")});
  const std::uint64_t truly = *pairs_needed(0.2, 0.4);
  int enough = 0;
  constexpr int kStudies = 1000;
  for (int i = 0; i < kStudies; ++i) {
    const std::vector<ArmRuns> arms = {draw_arm(5, 0, random)};
    enough += *seeds_needed(zeros(5), arms, 0.2, {}).front().needed_at_worst >= truly ? 1 : 0;
  }
  EXPECT_NEAR(enough, 900, 35);
}

TEST(SeedsNeeded, AreNotGuessedFromTwoPairs) {
  const std::vector<ArmRuns> arms = {{.name = "two", .values = {1, 2}, .seeds = {0, 1}},
                                     {.name = "none", .values = {}},
                                     {.name = "three", .values = {1, 2, 4}, .seeds = {0, 1, 2}}};
  const auto powers = seeds_needed(zeros(3), arms, 1, {.arms = 3});
  EXPECT_EQ(powers[0].pairs, 2u);
  EXPECT_FALSE(powers[0].std || powers[0].needed || powers[0].detectable);
  EXPECT_EQ(powers[1].pairs, 0u);
  ASSERT_TRUE(powers[2].needed);
  EXPECT_EQ(powers[2].needed, pairs_needed(1, std::sqrt(7.0 / 3), {.arms = 3}));
  EXPECT_GT(*powers[2].needed_at_worst, *powers[2].needed);
}

}  // namespace
}  // namespace impart::statistics

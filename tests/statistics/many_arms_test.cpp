#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/statistics/holm.h"
#include "impart/statistics/power.h"
#include "impart/statistics/spearman.h"
#include "impart/statistics/time_to_target.h"

namespace impart::statistics {
namespace {

using Values = std::vector<double>;
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Holm, AdjustsStepByStepAndKeepsTheOrder) {
  const Values adjusted = adjust_by_holm(Values{0.01, 0.04, 0.03, 0.005});
  EXPECT_NEAR(adjusted[0], 0.03, 1e-15);
  EXPECT_NEAR(adjusted[1], 0.06, 1e-15);  // 0.04 alone, but not below the one before
  EXPECT_NEAR(adjusted[2], 0.06, 1e-15);
  EXPECT_NEAR(adjusted[3], 0.02, 1e-15);
}

TEST(Holm, IsMonotoneFairToTiesAndAtMostOne) {
  const Values p{0.9, 0.2, 0.2, 0.0, 0.01, 1.0};
  const Values adjusted = adjust_by_holm(p);
  for (std::size_t i = 0; i < p.size(); ++i) {
    EXPECT_GE(adjusted[i], p[i]);
    EXPECT_LE(adjusted[i], 1);
    for (std::size_t j = 0; j < p.size(); ++j) {
      EXPECT_TRUE(p[i] > p[j] || adjusted[i] <= adjusted[j]) << i << ", " << j;
    }
  }
  EXPECT_TRUE(adjust_by_holm(Values{}).empty());
}

TEST(Holm, RefusesWhatIsNoProbability) {
  EXPECT_THROW(adjust_by_holm(Values{0.5, kNotANumber}), DataError);
  EXPECT_THROW(adjust_by_holm(Values{1.5}), DataError);
  EXPECT_THROW(adjust_by_holm(Values{-0.1}), DataError);
}

TEST(Power, OfTheDetectableDifferenceIsThePowerAskedFor) {
  for (const std::uint64_t n : {2u, 3u, 5u, 10u, 30u, 1000u, 1000000u}) {
    for (const std::uint32_t arms : {1u, 36u, 180u, 100000u}) {
      for (const double power : {0.1, 0.5, 0.8, 0.99}) {
        const PowerSpec spec{.power = power, .arms = arms};
        const double effect = detectable_difference(n, 1, spec);
        ASSERT_NEAR(paired_power(n, effect, spec), power, 1e-6) << n << " pairs, " << arms;
      }
    }
  }
}

TEST(Power, GrowsWithPairsAndEffectAndShrinksWithArms) {
  EXPECT_LT(detectable_difference(20, 1), detectable_difference(10, 1));
  EXPECT_LT(detectable_difference(10, 1), detectable_difference(10, 1, {.arms = 36}));
  EXPECT_LT(paired_power(10, 0.5), paired_power(10, 0.6));
  EXPECT_NEAR(paired_power(10, 0), 0.05, 1e-9);
  EXPECT_DOUBLE_EQ(paired_power(10, -0.7), paired_power(10, 0.7));
  EXPECT_NEAR(paired_power(10, 1e9), 1, 1e-9);
  EXPECT_NEAR(detectable_difference(10, 3), 3 * detectable_difference(10, 1), 1e-9);
}

TEST(Power, NeedsThePairsThatItSays) {
  for (const double difference : {3.0, 1.0, 0.3, 0.05}) {
    const PowerSpec spec{.arms = 12};
    const auto pairs = pairs_needed(difference, 1, spec);
    ASSERT_TRUE(pairs.has_value());
    EXPECT_GE(paired_power(*pairs, difference, spec), 0.8);
    EXPECT_LT(paired_power(*pairs - 1, difference, spec), 0.8);
  }
  EXPECT_EQ(pairs_needed(1, 0), 2u);
  EXPECT_EQ(pairs_needed(1e9, 1), 2u);
  EXPECT_EQ(pairs_needed(0, 1), std::nullopt);
  EXPECT_EQ(pairs_needed(1e-6, 1), std::nullopt);
}

TEST(Power, OfTwoEqualSamplesIsThatOfDoubleTheDegreesOfFreedom) {
  // 10 + 10 values of std 1: like 19 pairs as to degrees (18), with a standard error of √(2/10).
  const double paired = detectable_difference(19, 1) * std::sqrt(19.0);
  EXPECT_NEAR(detectable_difference({.n_a = 10, .n_b = 10, .std_a = 1, .std_b = 1}),
              paired * std::sqrt(0.2), 1e-9);
  EXPECT_EQ(detectable_difference({.n_a = 10, .n_b = 10, .std_a = 0, .std_b = 0}), 0);
}

TEST(Power, RefusesTheImpossible) {
  EXPECT_THROW(detectable_difference(1, 1), ConfigError);
  EXPECT_THROW(detectable_difference(10, kNotANumber), ConfigError);
  EXPECT_THROW(detectable_difference(10, 1, {.power = 1}), ConfigError);
  EXPECT_THROW(detectable_difference(10, 1, {.alpha = 0}), ConfigError);
  EXPECT_THROW(detectable_difference(10, 1, {.power = 0.01}), ConfigError);
  EXPECT_THROW(detectable_difference(10, 1, {.arms = 0}), ConfigError);
  EXPECT_THROW(pairs_needed(kNotANumber, 1), ConfigError);
}

TEST(TimeToTarget, IsTheFirstPositionThatIsGoodEnough) {
  const Values epochs{0, 1, 2, 3};
  const Values accuracy{80, 91, 90, 95};
  EXPECT_EQ(first_reached(epochs, accuracy, 90), 1);
  EXPECT_EQ(first_reached(epochs, accuracy, 95), 3);
  EXPECT_EQ(first_reached(epochs, accuracy, 95.01), std::nullopt);
  EXPECT_EQ(first_reached(epochs, Values{9, 5, kNotANumber, 3}, 4, Better::kLower), 3);
  EXPECT_EQ(first_reached(Values{}, Values{}, 90), std::nullopt);
}

TEST(TimeToTarget, RefusesBrokenCurves) {
  EXPECT_THROW(first_reached(Values{0, 1}, Values{1}, 0), DataError);
  EXPECT_THROW(first_reached(Values{0, 2, 1}, Values{1, 2, 3}, 0), DataError);
  EXPECT_THROW(first_reached(Values{0}, Values{1}, kNotANumber), ConfigError);
}

TEST(TimeToTarget, CountsRunsThatNeverArriveAsInfinitelyLate) {
  using Times = std::vector<std::optional<double>>;
  const auto most = summarise_times(Times{10, std::nullopt, 30, 20, std::nullopt});
  EXPECT_EQ(most.runs, 5u);
  EXPECT_EQ(most.reached, 3u);
  EXPECT_EQ(most.median, 30);
  EXPECT_EQ(summarise_times(Times{10, std::nullopt, 30, std::nullopt}).median, std::nullopt);
  EXPECT_EQ(summarise_times(Times{10, 30}).median, 20);
  EXPECT_EQ(summarise_times(Times{}).median, std::nullopt);
}

TEST(RankCorrelation, SeesOrderOnly) {
  const Values a{1, 2, 3, 4, 5};
  EXPECT_DOUBLE_EQ(rank_correlation(a, Values{1, 10, 100, 1000, 1e4})->rho, 1);
  EXPECT_DOUBLE_EQ(rank_correlation(a, Values{5, 4, 3, 2, 1})->rho, -1);
  EXPECT_EQ(rank_correlation(a, a)->p, 0);
  const std::vector<float> floats{1, 2, 3, 5, 4};
  EXPECT_DOUBLE_EQ(rank_correlation(a, floats)->rho, 0.9);
}

TEST(RankCorrelation, TakesNanAsHardAndNothingFromConstants) {
  EXPECT_EQ(rank_correlation(Values{1, 2, kNotANumber}, Values{1, 2, 2})->rho, 1);
  EXPECT_EQ(rank_correlation(Values{1, 2, kInfinity}, Values{1, 2, 2})->rho, 1);
  EXPECT_FALSE(rank_correlation(Values{1, 1, 1}, Values{1, 2, 3}).has_value());
  EXPECT_FALSE(rank_correlation(Values{1}, Values{2}).has_value());
  EXPECT_FALSE(rank_correlation(Values{}, Values{}).has_value());
  EXPECT_EQ(rank_correlation(Values{1, 2}, Values{3, 7})->p, 1);
  EXPECT_THROW(rank_correlation(Values{1, 2}, Values{3}), DataError);
}

}  // namespace
}  // namespace impart::statistics

#include "impart/statistics/non_inferiority.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/core/random.h"

namespace impart::statistics {
namespace {

// scipy.stats.ttest_1samp(differences, -0.2, alternative="greater"): t 4.0, p 0.0080650
TEST(NonInferiority, IsAOneSidedPairedTestAgainstTheMargin) {
  const std::vector<double> arm = {90.1, 90.3, 90.0, 90.2, 89.9};
  const std::vector<double> baseline = {90.2, 90.2, 90.1, 90.3, 89.9};
  const PairedComparison pairs = compare_pairs(arm, baseline);
  const auto found = test_non_inferiority(pairs, Better::kHigher, 0.2);
  ASSERT_TRUE(found);
  const double error = pairs.std / std::sqrt(5.0);
  EXPECT_NEAR(found->worst, pairs.mean_difference - 2.1318468 * error, 1e-6);
  EXPECT_NEAR((pairs.mean_difference + 0.2) / error, 4.0, 1e-6);
  EXPECT_NEAR(found->p, 0.0080650, 1e-6);
}

TEST(NonInferiority, KnowsWhichWayAMetricImproves) {
  const std::vector<double> arm = {3.0, 3.3, 3.1, 3.2}, baseline = {2.0, 2.1, 2.2, 2.1};
  const PairedComparison pairs = compare_pairs(arm, baseline);
  EXPECT_GT(test_non_inferiority(pairs, Better::kLower, 0.2)->p, 0.9);
  EXPECT_LT(test_non_inferiority(pairs, Better::kHigher, 0.2)->p, 0.01);
}

TEST(NonInferiority, IsWrongAsOftenAsItSaysForArmsThatAreWorseByTheMargin) {
  RandomStream random({.seed = 5, .purpose = Purpose("test")});
  int claims = 0;
  constexpr int kStudies = 4000;
  for (int study = 0; study < kStudies; ++study) {
    PairedComparison pairs{.n = 8};
    std::vector<double> differences;
    for (std::size_t i = 0; i < pairs.n; ++i) differences.push_back(-0.2 + 0.3 * random.normal());
    for (const double difference : differences) pairs.mean_difference += difference / 8;
    double squares = 0;
    for (const double difference : differences) {
      squares += std::pow(difference - pairs.mean_difference, 2);
    }
    pairs.std = std::sqrt(squares / 7);
    claims += test_non_inferiority(pairs, Better::kHigher, 0.2)->p < 0.05 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(claims) / kStudies, 0.05, 0.011);
}

TEST(NonInferiority, ClaimsNothingFromOnePairOrWithoutSpread) {
  EXPECT_FALSE(test_non_inferiority({.n = 1}, Better::kHigher, 0.2));
  EXPECT_FALSE(test_non_inferiority({.n = 4, .mean_difference = 1}, Better::kHigher, 0.2));
  EXPECT_THROW(test_non_inferiority({.n = 4}, Better::kHigher, 0), ConfigError);
}

}  // namespace
}  // namespace impart::statistics

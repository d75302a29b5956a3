#include "impart/cost/synthetic_importance.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "impart/core/error.h"

namespace impart::cost {
namespace {

std::vector<double> log_importance(SyntheticImportance& importance, std::uint32_t epoch) {
  std::vector<double> logs;
  for (const float value : importance.at(epoch)) logs.push_back(std::log(value));
  return logs;
}

double mean_product(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0) / static_cast<double>(a.size());
}

TEST(SyntheticImportance, IsLogNormalInEveryEpoch) {
  for (const double drift : {0.0, 0.3, 1.0}) {
    SyntheticImportance importance({.examples = 20000, .seed = 3, .drift = drift});
    for (const std::uint32_t epoch : {0u, 1u, 10u}) {
      const auto logs = log_importance(importance, epoch);
      EXPECT_NEAR(mean_product(logs, std::vector<double>(logs.size(), 1.0)), 0, 0.03);
      EXPECT_NEAR(mean_product(logs, logs), 1, 0.04) << "drift " << drift << " epoch " << epoch;
    }
  }
}

TEST(SyntheticImportance, ForgetsAsTheDocumentedCorrelationSays) {
  constexpr double kDrift = 0.3;
  SyntheticImportance importance({.examples = 50000, .seed = 4, .drift = kDrift});
  const auto start = log_importance(importance, 2);
  for (const std::uint32_t later : {1u, 3u, 20u}) {
    SyntheticImportance again({.examples = 50000, .seed = 4, .drift = kDrift});
    again.at(2);
    const double expected = (1 - kDrift) + kDrift * std::pow(1 - kDrift, later);
    EXPECT_NEAR(mean_product(start, log_importance(again, 2 + later)), expected, 0.02);
  }
}

TEST(SyntheticImportance, JumpsAsFarAsManySmallSteps) {
  SyntheticImportance stepping({.examples = 50000, .seed = 5, .drift = 0.2});
  SyntheticImportance jumping({.examples = 50000, .seed = 5, .drift = 0.2});
  const auto start = log_importance(stepping, 0);
  for (std::uint32_t epoch = 1; epoch < 5; ++epoch) stepping.at(epoch);
  EXPECT_NEAR(mean_product(start, log_importance(stepping, 5)),
              mean_product(start, log_importance(jumping, 5)), 0.02);
}

TEST(SyntheticImportance, NeverChangesWithoutDrift) {
  SyntheticImportance importance({.examples = 100, .seed = 1, .drift = 0});
  EXPECT_EQ(log_importance(importance, 0), log_importance(importance, 7));
}

TEST(SyntheticImportance, RefusesADriftThatIsNoShare) {
  EXPECT_THROW(SyntheticImportance({.examples = 1, .drift = 1.5}), ConfigError);
  EXPECT_THROW(SyntheticImportance({.examples = 1, .drift = std::nan("")}), ConfigError);
}

}  // namespace
}  // namespace impart::cost

// Compares the statistics with what numpy and scipy find (make_golden.py). The environment variable
// IMPART_GOLDEN names the file; where scipy is missing it holds the reason, and tests are skipped.

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "impart/statistics/describe.h"
#include "impart/statistics/holm.h"
#include "impart/statistics/interval.h"
#include "impart/statistics/power.h"
#include "impart/statistics/sign_flip.h"
#include "impart/statistics/spearman.h"
#include "impart/statistics/student.h"
#include "impart/statistics/variance.h"
#include "impart/statistics/wilcoxon.h"

namespace impart::statistics {
namespace {

using nlohmann::json;
using Values = std::vector<double>;

class StatisticsGolden : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("IMPART_GOLDEN");
    ASSERT_NE(path, nullptr) << "IMPART_GOLDEN is not set";
    std::ifstream file(path);
    golden_ = json::parse(file);
    if (golden_.contains("skipped")) GTEST_SKIP() << golden_["skipped"];
  }

  const json& section(const char* name) const {
    const json& cases = golden_.at(name);
    EXPECT_FALSE(cases.empty()) << name;
    return cases;
  }

 private:
  json golden_;
};

void expect_near(double found, const json& expected, const json& c, double relative = 1e-9) {
  const double value = expected.get<double>();
  EXPECT_NEAR(found, value, relative * std::max(std::abs(value), 1e-3)) << c.dump();
}

/// scipy's quantiles of t have nine digits.
void expect_interval(const Interval& found, const json& c) {
  EXPECT_NEAR(found.low, c["low"].get<double>(), 1e-7) << c.dump();
  EXPECT_NEAR(found.high, c["high"].get<double>(), 1e-7) << c.dump();
}

TEST_F(StatisticsGolden, Descriptions) {
  for (const json& c : section("describe")) {
    const Description d = describe(c["values"].get<Values>());
    EXPECT_EQ(d.n, c["values"].size());
    expect_near(d.mean, c["mean"], c);
    expect_near(d.std, c["std"], c);
    expect_near(d.min, c["min"], c);
    expect_near(d.lower_quartile, c["lower_quartile"], c);
    expect_near(d.median, c["median"], c);
    expect_near(d.upper_quartile, c["upper_quartile"], c);
    expect_near(d.max, c["max"], c);
  }
}

TEST_F(StatisticsGolden, BcaIntervals) {
  for (const json& c : section("bca")) {
    const Interval interval =
        mean_interval(c["values"].get<Values>(), {.kind = IntervalKind::kBca,
                                                  .confidence = c["confidence"],
                                                  .resamples = c["resamples"],
                                                  .seed = c["seed"]});
    expect_near(interval.low, c["low"], c);
    expect_near(interval.high, c["high"], c);
  }
}

TEST_F(StatisticsGolden, ExactSignFlips) {
  for (const json& c : section("sign_flip")) {
    const SignFlipTest test = sign_flip_test(c["values"].get<Values>());
    EXPECT_TRUE(test.exact);
    expect_near(test.p, c["p"], c);
  }
}

TEST_F(StatisticsGolden, RandomSignFlips) {
  for (const json& c : section("random_flips")) {
    const SignFlipTest test =
        sign_flip_test(c["values"].get<Values>(), {.flips = c["flips"], .seed = c["seed"]});
    EXPECT_FALSE(test.exact);
    expect_near(test.p, c["p"], c);
  }
}

TEST_F(StatisticsGolden, Wilcoxon) {
  for (const json& c : section("wilcoxon")) {
    const bool exact = c["exact"];
    const WilcoxonTest test = wilcoxon_test(
        c["values"].get<Values>(), exact ? WilcoxonMethod::kAuto : WilcoxonMethod::kNormal);
    EXPECT_EQ(test.exact, exact);
    expect_near(test.statistic, c["statistic"], c);
    expect_near(test.p, c["p"], c);
  }
}

TEST_F(StatisticsGolden, StudentsTest) {
  for (const json& c : section("student")) {
    const auto values = c["values"].get<Values>();
    const TTest test = student_test(values, c["confidence"]);
    expect_near(test.t, c["t"], c);
    expect_near(test.p.value(), c["p"], c);
    expect_interval(test.interval.value(), c);
    expect_interval(mean_interval(values, {.confidence = c["confidence"]}), c);
  }
}

TEST_F(StatisticsGolden, WelchsTest) {
  for (const json& c : section("welch")) {
    const TTest test = welch_test(c["a"].get<Values>(), c["b"].get<Values>());
    expect_near(test.t, c["t"], c);
    expect_near(test.degrees, c["degrees"], c);
    expect_near(test.p.value(), c["p"], c);
    expect_interval(test.interval.value(), c);
  }
}

TEST_F(StatisticsGolden, HolmsCorrection) {
  for (const json& c : section("holm")) {
    const Values adjusted = adjust_by_holm(c["p"].get<Values>());
    for (std::size_t i = 0; i < adjusted.size(); ++i) expect_near(adjusted[i], c["adjusted"][i], c);
  }
}

TEST_F(StatisticsGolden, Power) {
  for (const json& c : section("power")) {
    const PowerSpec spec{.power = c["power"], .arms = c["arms"]};
    const double std = c["std"];
    expect_near(detectable_difference(c["n"], std, spec), c["detectable"], c, 1e-6);
    expect_near(paired_power(c["n"], c["effect"], spec), c["power_of_effect"], c, 1e-6);
    EXPECT_EQ(pairs_needed(c["effect"].get<double>() * std, std, spec), c["needed"]) << c.dump();
  }
}

TEST_F(StatisticsGolden, Pairing) {
  for (const json& c : section("pairing")) {
    const auto pairing = measure_pairing(c["arm"].get<Values>(), c["baseline"].get<Values>());
    expect_near(*pairing.correlation, c["correlation"], c);
    expect_near(*pairing.removed, c["removed"], c, 1e-7);
  }
}

TEST_F(StatisticsGolden, SharesOfVariance) {
  for (const json& c : section("variance_share")) {
    const auto share =
        variance_share(describe(c["part"].get<Values>()), describe(c["whole"].get<Values>()));
    expect_near(share->share, c["share"], c);
    expect_near(share->interval.low, c["low"], c, 1e-7);
    expect_near(share->interval.high, c["high"], c, 1e-7);
  }
}

TEST_F(StatisticsGolden, RankCorrelations) {
  for (const json& c : section("spearman")) {
    const auto found = rank_correlation(c["a"].get<Values>(), c["b"].get<Values>());
    ASSERT_TRUE(found.has_value()) << c.dump();
    expect_near(found->rho, c["rho"], c);
    expect_near(found->p, c["p"], c);
  }
}

}  // namespace
}  // namespace impart::statistics

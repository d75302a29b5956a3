#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/statistics/paired.h"
#include "impart/statistics/student.h"

namespace impart::statistics {
namespace {

using Values = std::vector<double>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Values normal_values(std::size_t n, std::uint64_t seed, double mean = 0) {
  RandomStream random({.seed = seed, .purpose = Purpose("statistics-test")});
  Values values(n);
  for (double& value : values) value = mean + random.normal();
  return values;
}

/// By visiting all patterns, on numbers whose sums are exact.
double sign_flip_naively(const Values& values) {
  double observed = 0;
  for (const double value : values) observed += value;
  std::size_t as_far = 0;
  const std::size_t patterns = std::size_t{1} << values.size();
  for (std::size_t pattern = 0; pattern < patterns; ++pattern) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      sum += (pattern >> i & 1) != 0 ? values[i] : -values[i];
    }
    if (std::abs(sum) >= std::abs(observed)) ++as_far;
  }
  return static_cast<double>(as_far) / static_cast<double>(patterns);
}

TEST(SignFlips, CountWhatVisitingAllPatternsCounts) {
  RandomStream random({.seed = 3, .purpose = Purpose("statistics-test")});
  for (std::size_t n = 1; n <= 16; ++n) {
    for (int repeat = 0; repeat < 4; ++repeat) {
      Values values(n);
      for (double& value : values) value = static_cast<double>(random.below(9)) / 4 - 0.75;
      ASSERT_DOUBLE_EQ(sign_flip_test(values).p, sign_flip_naively(values)) << "n = " << n;
    }
  }
}

TEST(SignFlips, OfOneSignHaveTheSmallestPossibleP) {
  for (const std::size_t n : {1u, 2u, 10u, 20u, 32u}) {
    const auto test = sign_flip_test(Values(n, 0.1));
    EXPECT_TRUE(test.exact);
    EXPECT_DOUBLE_EQ(test.p, smallest_sign_flip_p(n));
  }
}

TEST(SignFlips, AtRandomAgreeWithTheExactOnes) {
  Values values = normal_values(kExactSignFlips, 5, 0.35);
  const double exact = sign_flip_test(values).p;
  values.push_back(0);  // changes no sum, but is one too many to count
  const auto random = sign_flip_test(values);
  EXPECT_FALSE(random.exact);
  ASSERT_GT(exact, 0.01);
  ASSERT_LT(exact, 0.2);
  EXPECT_NEAR(random.p, exact, 5 * std::sqrt(exact / 100'000));
  EXPECT_EQ(random.p, sign_flip_test(values).p) << "equal seeds, equal results";
  EXPECT_NE(random.p, sign_flip_test(values, {.seed = 1}).p);
}

TEST(SignFlips, AtRandomNeverClaimImpossibility) {
  EXPECT_DOUBLE_EQ(sign_flip_test(Values(100, 1), {.flips = 999}).p, 0.001);
}

TEST(Pairs, WithoutAnyDifferenceGiveNoEvidence) {
  for (const std::size_t n : {2u, 10u, 50u}) {
    const Values values = normal_values(n, n);
    const auto c = compare_pairs(values, values);
    EXPECT_EQ(c.mean_difference, 0);
    EXPECT_EQ(c.sign_flip->p, 1);
    EXPECT_EQ(c.wilcoxon->p, 1);
    EXPECT_EQ(c.student_p, 1);
    EXPECT_EQ(c.interval->low, 0);
    EXPECT_EQ(c.interval->high, 0);
    EXPECT_EQ(c.bca->low, 0);
    EXPECT_EQ(c.bca->high, 0);
  }
}

TEST(Pairs, NeedMoreThanOneForATest) {
  const auto c = compare_pairs(Values{93}, Values{92});
  EXPECT_EQ(c.n, 1u);
  EXPECT_EQ(c.mean_difference, 1);
  EXPECT_TRUE(std::isnan(c.std));
  EXPECT_FALSE(c.interval || c.bca || c.sign_flip || c.wilcoxon || c.student_p);
}

TEST(Pairs, ThatAllDifferByTheSameHaveNoTButStillSigns) {
  const auto c = compare_pairs(Values{1.1, 2.1, 3.1, 4.1}, Values{1, 2, 3, 4});
  EXPECT_FALSE(c.student_p.has_value());
  EXPECT_DOUBLE_EQ(c.sign_flip->p, 0.125);
  EXPECT_DOUBLE_EQ(c.wilcoxon->p, 0.125);
  EXPECT_DOUBLE_EQ(c.interval->low, c.interval->high);
}

TEST(Pairs, ThatAreEqualOnPaperAreTies) {
  const auto differences =
      paired_differences(Values{93.14, 90.32, 0.3, 91.0}, Values{93.0, 90.18, 0.16, 91.14});
  EXPECT_NE(93.14 - 93.0, 90.32 - 90.18);
  EXPECT_EQ(differences[0], differences[1]);
  EXPECT_EQ(differences[0], differences[2]);
  EXPECT_EQ(differences[0], -differences[3]);
  EXPECT_NEAR(differences[0], 0.14, 1e-10);
}

TEST(Pairs, TurnedAroundGiveTheSamePWithTheOtherSign) {
  const Values a = normal_values(11, 1, 0.4);
  const Values b = normal_values(11, 2);
  const auto forth = compare_pairs(a, b);
  const auto back = compare_pairs(b, a);
  EXPECT_DOUBLE_EQ(forth.mean_difference, -back.mean_difference);
  EXPECT_DOUBLE_EQ(forth.median_difference, -back.median_difference);
  EXPECT_DOUBLE_EQ(forth.interval->low, -back.interval->high);
  EXPECT_DOUBLE_EQ(forth.sign_flip->p, back.sign_flip->p);
  EXPECT_DOUBLE_EQ(forth.wilcoxon->p, back.wilcoxon->p);
  EXPECT_DOUBLE_EQ(*forth.student_p, *back.student_p);
}

TEST(Pairs, AreComparedReproducibly) {
  const Values a = normal_values(40, 1, 0.2);
  const Values b = normal_values(40, 2);
  const auto once = compare_pairs(a, b, {.seed = 7});
  const auto again = compare_pairs(a, b, {.seed = 7});
  const auto other = compare_pairs(a, b, {.seed = 8});
  EXPECT_EQ(once.bca->low, again.bca->low);
  EXPECT_EQ(once.sign_flip->p, again.sign_flip->p);
  EXPECT_NE(once.bca->low, other.bca->low);
  EXPECT_NEAR(once.bca->low, other.bca->low, 0.05);
}

TEST(Pairs, RefuseWhatIsNoPairOrNoNumber) {
  EXPECT_THROW(compare_pairs(Values{1, 2}, Values{1}), DataError);
  EXPECT_THROW(compare_pairs(Values{}, Values{}), DataError);
  EXPECT_THROW(compare_pairs(Values{1, kNan}, Values{1, 2}), DataError);
  EXPECT_THROW(sign_flip_test(Values{}), DataError);
  EXPECT_THROW(sign_flip_test(Values{1, kNan}), DataError);
  EXPECT_THROW(wilcoxon_test(Values{}), DataError);
  EXPECT_THROW(wilcoxon_test(Values{kNan}), DataError);
}

TEST(Wilcoxon, LeavesZerosOutAndSaysHowManyItUsed) {
  const Values differences{0, 1, -2, 0, 3, 4, 5};
  const auto test = wilcoxon_test(differences);
  EXPECT_EQ(test.used, 5u);
  EXPECT_TRUE(test.exact);
  EXPECT_DOUBLE_EQ(test.p, wilcoxon_test(Values{1, -2, 3, 4, 5}).p);
}

TEST(Wilcoxon, ApproximatesBeyondTheExactRange) {
  EXPECT_TRUE(wilcoxon_test(normal_values(kExactWilcoxon, 1)).exact);
  const Values many = normal_values(kExactWilcoxon + 1, 1, 0.2);
  EXPECT_FALSE(wilcoxon_test(many).exact);
  EXPECT_NEAR(wilcoxon_test(many).p, wilcoxon_test(many, WilcoxonMethod::kExact).p, 0.005);
}

TEST(Welch, SaysNothingWithoutSpread) {
  EXPECT_FALSE(welch_test(Values{1}, Values{1, 2}).p.has_value());
  EXPECT_FALSE(welch_test(Values{1, 2}, Values{1}).interval.has_value());
  EXPECT_FALSE(welch_test(Values{0.1, 0.1, 0.1}, Values{0.3, 0.3}).p.has_value());
  const TTest same = welch_test(Values{0.1, 0.1, 0.1}, Values{0.1, 0.1});
  EXPECT_EQ(same.p, 1);
  EXPECT_EQ(same.interval->low, 0);
  EXPECT_EQ(same.interval->high, 0);
}

TEST(Welch, TakesOneConstantSample) {
  const TTest test = welch_test(Values{1, 2, 3}, Values{5, 5, 5, 5});
  EXPECT_DOUBLE_EQ(test.degrees, 2);
  EXPECT_LT(*test.p, 0.05);
}

TEST(Welch, RefusesEmptySamplesAndImpossibleConfidence) {
  EXPECT_THROW(welch_test(Values{}, Values{1, 2}), DataError);
  EXPECT_THROW(welch_test(Values{1, kNan}, Values{1, 2}), DataError);
  EXPECT_THROW(welch_test(Values{1, 2}, Values{1, 2}, 1), ConfigError);
}

TEST(Interval, RefusesWhatHasNone) {
  EXPECT_THROW(mean_interval(Values{1}), DataError);
  EXPECT_THROW(mean_interval(Values{1, kNan}), DataError);
  EXPECT_THROW(mean_interval(Values{1, 2}, {.confidence = 0}), ConfigError);
  EXPECT_THROW(mean_interval(Values{1, 2}, {.kind = IntervalKind::kBca, .resamples = 0}),
               ConfigError);
}

TEST(Interval, OfBcaStaysWithinTheDataHoweverSkewed) {
  Values values(30, 0.0);
  values[0] = 1000;
  for (const double confidence : {0.5, 0.95, 0.9999, 1 - 1e-12}) {
    const Interval interval =
        mean_interval(values, {.kind = IntervalKind::kBca, .confidence = confidence});
    EXPECT_LE(0, interval.low);
    EXPECT_LE(interval.low, interval.high);
    EXPECT_LE(interval.high, 1000);
  }
}

}  // namespace
}  // namespace impart::statistics

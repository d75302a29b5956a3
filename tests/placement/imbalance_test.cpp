#include "impart/placement/measures/imbalance.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "impart/placement/contract.h"
#include "impart/placement/heuristics.h"

namespace impart::placement {
namespace {

/// Kolmogorov–Smirnov distance by comparing the shares above every score, for every worker.
double ks_naively(const Partition& partition, const std::vector<double>& scores) {
  const auto sizes = partition.sizes();
  double largest = 0;
  for (const double threshold : scores) {
    std::vector<double> above(partition.workers());
    double all = 0;
    for (std::uint64_t i = 0; i < scores.size(); ++i) {
      if (scores[i] < threshold) continue;
      ++above[index(partition.owner(ExampleId{i}))];
      ++all;
    }
    for (std::uint32_t worker = 0; worker < partition.workers(); ++worker) {
      if (sizes[worker] == 0) continue;
      largest = std::max(largest, std::abs(above[worker] / static_cast<double>(sizes[worker]) -
                                           all / static_cast<double>(scores.size())));
    }
  }
  return largest;
}

TEST(Imbalance, HasTheKolmogorovSmirnovDistanceOfTheDefinition) {
  for (std::uint64_t number = 0; number < 600; ++number) {
    const auto c = make_contract_case(number);
    const FiniteScores finite(c.importance);
    std::vector<double> scores;
    for (std::uint64_t i = 0; i < c.importance.size(); ++i)
      scores.push_back(finite.view()[ExampleId{i}]);
    ASSERT_NEAR(measure_imbalance(c.previous, c.importance).ks, ks_naively(c.previous, scores),
                1e-12)
        << c.describe();
  }
}

TEST(Imbalance, MeasuresTheSpreadOfTheMeans) {
  const std::vector<float> scores = {1, 1, 3, 3};
  const Partition apart({WorkerId{0}, WorkerId{0}, WorkerId{1}, WorkerId{1}}, 2);
  const Partition mixed({WorkerId{0}, WorkerId{1}, WorkerId{0}, WorkerId{1}}, 2);
  EXPECT_DOUBLE_EQ(measure_imbalance(apart, scores).cv, 0.5);  // means 1 and 3: std 1, mean 2
  EXPECT_DOUBLE_EQ(measure_imbalance(apart, scores).ks, 0.5);
  EXPECT_EQ(measure_imbalance(mixed, scores).cv, 0);
  EXPECT_EQ(measure_imbalance(apart, scores).sums, (std::vector<double>{2, 6}));
}

TEST(Imbalance, IsUndefinedAroundZeroAndZeroForEqualMeans) {
  const Partition two({WorkerId{0}, WorkerId{1}}, 2);
  EXPECT_TRUE(std::isnan(measure_imbalance(two, std::vector<float>{-1, 1}).cv));
  EXPECT_EQ(measure_imbalance(two, std::vector<float>{0, 0}).cv, 0);
  EXPECT_EQ(measure_imbalance(Partition({}, 3), std::vector<float>{}).cv, 0);
}

TEST(ClassSkew, IsTheLargestTotalVariationDistance) {
  const std::vector<std::uint32_t> labels = {7, 7, 9, 9};
  const Partition apart({WorkerId{0}, WorkerId{0}, WorkerId{1}, WorkerId{1}}, 2);
  const Partition mixed({WorkerId{0}, WorkerId{1}, WorkerId{0}, WorkerId{1}}, 2);
  EXPECT_DOUBLE_EQ(measure_class_skew(apart, labels), 0.5);
  EXPECT_DOUBLE_EQ(measure_class_skew(mixed, labels), 0);
}

TEST(ClassSkew, IsTheMeanOverWorkersThatHaveExamples) {
  const std::vector<std::uint32_t> labels = {7, 7, 9, 9};
  const Partition uneven({WorkerId{0}, WorkerId{2}, WorkerId{2}, WorkerId{2}}, 3);
  const ClassSkew skew = measure_classes(uneven, labels);
  EXPECT_DOUBLE_EQ(skew.largest, 0.5);
  EXPECT_DOUBLE_EQ(skew.mean, (0.5 + 1.0 / 6) / 2);
}

TEST(ClassSkew, KnowsWhatChanceWouldBe) {
  std::vector<std::uint32_t> labels;
  for (std::uint32_t i = 0; i < 6000; ++i) labels.push_back(i % 10);
  const std::vector<float> nothing(labels.size());
  double mean = 0;
  for (std::uint32_t epoch = 0; epoch < 20; ++epoch) {
    const Partition random = shuffle_evenly(nothing, {.workers = 60, .epoch = epoch});
    const ClassSkew skew = measure_classes(random, labels);
    mean += skew.mean / 20;
    EXPECT_NEAR(skew.mean, skew.mean_by_chance, 0.15 * skew.mean_by_chance);
  }
  EXPECT_NEAR(mean,
              measure_classes(shuffle_evenly(nothing, {.workers = 60}), labels).mean_by_chance,
              0.003);
  EXPECT_EQ(
      measure_classes(Partition({WorkerId{0}}, 1), std::vector<std::uint32_t>{3}).mean_by_chance,
      0);
}

TEST(SizeSpread, IsTheLargestPartOverTheMean) {
  EXPECT_DOUBLE_EQ(measure_size_spread(Partition({WorkerId{0}, WorkerId{0}, WorkerId{0}}, 2)), 2);
  EXPECT_EQ(measure_size_spread(Partition({}, 2)), 1);
}

}  // namespace
}  // namespace impart::placement

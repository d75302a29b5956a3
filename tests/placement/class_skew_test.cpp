#include "impart/placement/measures/class_skew.h"

#include <cmath>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/core/random.h"

namespace impart::placement {
namespace {

Partition partition_of(const std::vector<std::uint32_t>& owners, std::uint32_t workers) {
  std::vector<WorkerId> ids;
  for (const std::uint32_t owner : owners) ids.push_back(WorkerId{owner});
  return {ids, workers};
}

TEST(ClassSkew, IsTheMeanDistanceOfTheWorkersMixesFromThatOfAll) {
  const std::vector<std::uint32_t> labels = {0, 0, 7, 7};
  EXPECT_DOUBLE_EQ(mean_class_skew(partition_of({0, 0, 1, 1}, 2), labels), 0.5);
  EXPECT_DOUBLE_EQ(mean_class_skew(partition_of({0, 1, 0, 1}, 2), labels), 0);
  // Worker 0 has 0 0 7: shares 2/3 and 1/3; worker 1 has one 7; worker 2 has nothing.
  EXPECT_DOUBLE_EQ(mean_class_skew(partition_of({0, 0, 0, 1}, 3), labels), (1.0 / 6 + 1.0 / 2) / 2);
}

TEST(ClassSkew, RefusesAnotherNumberOfLabels) {
  const std::vector<std::uint32_t> labels = {0, 1};
  EXPECT_THROW(mean_class_skew(partition_of({0, 0, 0}, 1), labels), ConfigError);
  EXPECT_THROW(expected_class_skew(partition_of({0, 0, 0}, 1), labels), ConfigError);
}

TEST(ClassSkew, OfRandomPartsIsWhatChanceMakesOfIt) {
  constexpr std::uint32_t kWorkers = 1000;
  for (const std::uint32_t size : {3u, 24u, 390u}) {
    for (const std::uint32_t classes : {2u, 10u, 100u}) {
      SCOPED_TRACE(::testing::Message() << size << " examples, " << classes << " classes");
      RandomStream random({.seed = 1, .purpose = Purpose("skew"), .epoch = size});
      std::vector<std::uint32_t> labels, owners;
      for (std::uint32_t i = 0; i < kWorkers * size; ++i) {
        labels.push_back(static_cast<std::uint32_t>(random.below(classes)));
        owners.push_back(i / size);
      }
      const Partition parts = partition_of(owners, kWorkers);
      const double expected = expected_class_skew(parts, labels);
      EXPECT_NEAR(mean_class_skew(parts, labels) / expected, 1, 0.1);
      EXPECT_LT(mean_class_skew(parts, labels), expected + kNotableClassSkew);
    }
  }
}

TEST(ClassSkew, OfPartsByClassIsNotable) {
  std::vector<std::uint32_t> labels, owners;
  for (std::uint32_t i = 0; i < 2400; ++i) {
    labels.push_back(i / 240);
    owners.push_back(i / 24);
  }
  const Partition parts = partition_of(owners, 100);
  EXPECT_NEAR(mean_class_skew(parts, labels), 0.9, 1e-12);
  EXPECT_GT(mean_class_skew(parts, labels), expected_class_skew(parts, labels) + kNotableClassSkew);
}

}  // namespace
}  // namespace impart::placement

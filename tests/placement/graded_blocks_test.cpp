#include <cmath>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/placement/contract.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/measures/imbalance.h"
#include "impart/placement/move_plan.h"

namespace impart::placement {
namespace {

TEST(GradedBlocks, OfStrengthOneAreBlocks) {
  for (std::uint64_t number = 0; number < kContractCases; number += 3) {
    const ContractCase c = make_contract_case(number);
    PartitionSpec spec{.workers = c.workers, .seed = number, .strength = 1};
    ASSERT_EQ(cut_into_graded_blocks(c.importance, spec), cut_into_blocks(c.importance, spec))
        << c.describe();
    spec.sticky_to = &c.previous;
    ASSERT_EQ(cut_into_graded_blocks(c.importance, spec), cut_into_blocks(c.importance, spec))
        << c.describe();
  }
}

TEST(GradedBlocks, OfStrengthZeroDoNotLookAtImportance) {
  for (std::uint64_t number = 0; number < kContractCases; number += 10) {
    const ContractCase c = make_contract_case(number);
    const std::vector<float> nothing(c.importance.size());
    const PartitionSpec spec{.workers = c.workers, .seed = number, .strength = 0};
    ASSERT_EQ(cut_into_graded_blocks(c.importance, spec), cut_into_graded_blocks(nothing, spec))
        << c.describe();
  }
}

std::vector<float> exponential_importance(std::size_t examples) {
  RandomStream random({.seed = 4, .purpose = Purpose("test")});
  std::vector<float> importance(examples);
  for (float& value : importance) value = static_cast<float>(random.exponential());
  return importance;
}

TEST(GradedBlocks, DifferMoreTheMoreImportanceCounts) {
  const auto importance = exponential_importance(4000);
  double before = 0;
  for (const double strength : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    const double ks =
        measure_imbalance(
            cut_into_graded_blocks(importance, {.workers = 8, .seed = 1, .strength = strength}),
            importance)
            .ks;
    EXPECT_GT(ks, before + 0.05);
    before = ks;
  }
}

TEST(GradedBlocks, DrawAnewInEveryEpochUnlessTheyAreSticky) {
  const auto importance = exponential_importance(1000);
  const Partition first = cut_into_graded_blocks(importance, {.workers = 4, .epoch = 1});
  const Partition second = cut_into_graded_blocks(importance, {.workers = 4, .epoch = 2});
  const Partition stuck =
      cut_into_graded_blocks(importance, {.workers = 4, .epoch = 2, .sticky_to = &first});
  EXPECT_FALSE(first == second);
  EXPECT_LE(diff(first, stuck).moves.size(), diff(first, second).moves.size());
  EXPECT_LT(diff(first, stuck).moves.size(), 700u);
}

TEST(GradedBlocks, SayWhichStrengthTheyTake) {
  const std::vector<float> importance = {1, 2};
  for (const double strength : {-0.1, 1.1, std::nan("")}) {
    EXPECT_THROW(cut_into_graded_blocks(importance, {.workers = 2, .strength = strength}),
                 ConfigError);
  }
}

}  // namespace
}  // namespace impart::placement

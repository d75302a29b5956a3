// Sticky partitions have the property of their heuristic and move little.

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "impart/core/random.h"
#include "impart/placement/contract.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/move_plan.h"
#include "impart/placement/ranking.h"
#include "tests/placement/exponential_scores.h"

namespace impart::placement {
namespace {

double moved_share(const Partition& before, const Partition& after) {
  return static_cast<double>(diff(before, after).moves.size()) /
         static_cast<double>(before.examples());
}

/// Whether each worker has exactly one of every n neighbours of an order, at most one of the rest.
bool has_row_property(const std::vector<ExampleId>& order, const Partition& partition) {
  for (std::size_t start = 0; start < order.size(); start += partition.workers()) {
    const std::size_t end = std::min(start + partition.workers(), order.size());
    std::set<WorkerId> owners;
    for (std::size_t rank = start; rank < end; ++rank) owners.insert(partition.owner(order[rank]));
    if (owners.size() != end - start) return false;
  }
  return true;
}

TEST(Sticky, KeepsTheRowPropertyForAnyPreviousPartition) {
  for (std::uint64_t number = 0; number < kContractCases; ++number) {
    const ContractCase c = make_contract_case(number);
    const auto ranking = rank_by_importance(c.importance);
    auto by_class = ranking;
    std::stable_sort(by_class.begin(), by_class.end(), [&](ExampleId a, ExampleId b) {
      return c.labels[index(a)] < c.labels[index(b)];
    });
    for (const Partition* sticky_to : {static_cast<const Partition*>(nullptr), &c.previous}) {
      const PartitionSpec spec{.workers = c.workers, .labels = c.labels, .sticky_to = sticky_to};
      ASSERT_TRUE(has_row_property(ranking, deal_in_stripes(c.importance, spec))) << c.describe();
      ASSERT_TRUE(has_row_property(ranking, deal_in_snake(c.importance, spec))) << c.describe();
      ASSERT_TRUE(has_row_property(ranking, deal_balanced(c.importance, spec))) << c.describe();
      ASSERT_TRUE(has_row_property(by_class, deal_classes_in_stripes(c.importance, spec)))
          << c.describe();
    }
  }
}

TEST(Sticky, MovesNothingWhenNothingChanged) {
  for (std::uint64_t number = 0; number < kContractCases; number += 10) {
    const ContractCase c = make_contract_case(number);
    for (const HeuristicEntry& entry : kHeuristics) {
      if (!entry.uses_importance) continue;
      const Partition first =
          entry.function(c.importance, {.workers = c.workers, .labels = c.labels});
      const Partition second = entry.function(
          c.importance, {.workers = c.workers, .labels = c.labels, .sticky_to = &first});
      ASSERT_EQ(first, second) << entry.name << ' ' << c.describe();
    }
  }
}

TEST(Sticky, MovesAboutOneInEFromARandomPartition) {
  const auto scores = exponential_scores(80'000, 1);
  const Partition random = shuffle_evenly(scores, {.workers = 8});
  for (Heuristic* heuristic : {&deal_in_stripes, &deal_in_snake, &deal_balanced}) {
    EXPECT_NEAR(moved_share(random, heuristic(scores, {.workers = 8})), 0.875, 0.01);
    EXPECT_LE(moved_share(random, heuristic(scores, {.workers = 8, .sticky_to = &random})), 0.40);
  }
}

TEST(Sticky, MovesHardlyAnythingWhenFewRanksChange) {
  auto scores = exponential_scores(80'000, 2);
  const Partition before = deal_in_stripes(scores, {.workers = 8});
  // One in a hundred examples trades its score, and so its rank, with a random other one.
  RandomStream random({.seed = 3, .purpose = Purpose("test")});
  for (int i = 0; i < 400; ++i) {
    std::swap(scores[random.below(scores.size())], scores[random.below(scores.size())]);
  }
  EXPECT_LT(moved_share(before, deal_in_stripes(scores, {.workers = 8, .sticky_to = &before})),
            0.05);
}

TEST(Sticky, MovesHardlyAnythingWhenFewExamplesGetANewRank) {
  auto scores = exponential_scores(80'000, 4);
  const Partition before = deal_in_stripes(scores, {.workers = 8});
  // One in a hundred examples gets a score of its own, so all ranks in between shift.
  RandomStream random({.seed = 5, .purpose = Purpose("test")});
  for (int i = 0; i < 800; ++i) {
    scores[random.below(scores.size())] = static_cast<float>(random.exponential());
  }
  const double sticky =
      moved_share(before, deal_in_stripes(scores, {.workers = 8, .sticky_to = &before}));
  EXPECT_LT(sticky, 0.05) << "plain moves "
                          << moved_share(before, deal_in_stripes(scores, {.workers = 8}));
}

TEST(StickyBlocks, KeepTheBlocksAndOnlyRenameThem) {
  for (std::uint64_t number = 0; number < kContractCases; number += 5) {
    const ContractCase c = make_contract_case(number);
    const Partition plain = cut_into_blocks(c.importance, {.workers = c.workers});
    const Partition sticky =
        cut_into_blocks(c.importance, {.workers = c.workers, .sticky_to = &c.previous});
    std::set<std::pair<WorkerId, WorkerId>> names;
    for (std::uint64_t i = 0; i < c.importance.size(); ++i) {
      names.emplace(plain.owner(ExampleId{i}), sticky.owner(ExampleId{i}));
    }
    const std::uint64_t used = std::min<std::uint64_t>(c.workers, c.importance.size());
    ASSERT_EQ(names.size(), used) << c.describe();
    ASSERT_LE(diff(c.previous, sticky).moves.size(), diff(c.previous, plain).moves.size())
        << c.describe();
  }
}

TEST(Sticky, CopesWithWorkersThatAreGone) {
  const auto scores = exponential_scores(1000, 6);
  const Partition sixteen = deal_in_stripes(scores, {.workers = 16});
  for (const HeuristicEntry& entry : kHeuristics) {
    if (!entry.uses_importance || entry.uses_labels) continue;
    const Partition eight = entry.function(scores, {.workers = 8, .sticky_to = &sixteen});
    const auto sizes = eight.sizes();
    EXPECT_EQ(*std::max_element(sizes.begin(), sizes.end()), 125u) << entry.name;
  }
}

}  // namespace
}  // namespace impart::placement

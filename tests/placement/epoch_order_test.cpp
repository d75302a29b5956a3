#include "impart/placement/epoch_order.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "impart/placement/contract.h"
#include "impart/placement/heuristics.h"

namespace impart::placement {
namespace {

std::vector<ExampleId> list(const Parts& parts, std::uint32_t worker) {
  const auto ids = parts.of(WorkerId{worker});
  return {ids.begin(), ids.end()};
}

TEST(EpochOrder, VisitsEveryExampleOfAPartOnce) {
  for (std::uint64_t number = 0; number < 1000; ++number) {
    const auto c = make_contract_case(number);
    for (const ShuffleKind kind : {ShuffleKind::kPerWorker, ShuffleKind::kShared}) {
      const Parts order =
          order_epoch(c.previous, {.seed = number, .shuffle = kind, .importance = c.importance});
      const Parts parts = c.previous.parts();
      for (std::uint32_t worker = 0; worker < c.workers; ++worker) {
        auto visited = list(order, worker);
        std::sort(visited.begin(), visited.end());
        ASSERT_EQ(visited, list(parts, worker)) << c.describe();
      }
    }
  }
}

TEST(EpochOrder, ChangesWithEpochSeedAndWorker) {
  const std::vector<float> scores(64, 1.0f);
  const Partition partition = deal_in_stripes(scores, {.workers = 2});
  const auto order = [&](std::uint64_t seed, std::uint32_t epoch) {
    return order_epoch(partition, {.seed = seed, .epoch = epoch});
  };
  EXPECT_NE(list(order(1, 1), 0), list(order(1, 2), 0));
  EXPECT_NE(list(order(1, 1), 0), list(order(2, 1), 0));
  // Examples 2k and 2k + 1 stand at the same positions of their parts, but not of their orders.
  auto shifted = list(order(1, 1), 1);
  for (ExampleId& id : shifted) id = ExampleId{index(id) - 1};
  EXPECT_NE(list(order(1, 1), 0), shifted);
}

TEST(SharedOrder, MovesEqualRanksToEqualPlaces) {
  // Ids descend with importance, so rank and id agree; with stripes, workers w and w + 1 then have
  // neighbours of the ranking at every step.
  std::vector<float> scores(100);
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = static_cast<float>(scores.size() - i);
  const Partition partition = deal_in_stripes(scores, {.workers = 4});
  const Parts order =
      order_epoch(partition, {.seed = 9, .shuffle = ShuffleKind::kShared, .importance = scores});
  for (std::size_t step = 0; step < 25; ++step) {
    const std::uint64_t first = index(order.of(WorkerId{0})[step]);
    for (std::uint32_t worker = 1; worker < 4; ++worker) {
      EXPECT_EQ(index(order.of(WorkerId{worker})[step]), first + worker);
    }
  }
}

}  // namespace
}  // namespace impart::placement

#include "impart/store/move_bytes.h"

#include <gtest/gtest.h>

#include "impart/core/error.h"

namespace impart::store {
namespace {

placement::Move move(std::uint64_t id, std::uint32_t from, std::uint32_t to) {
  return {ExampleId{id}, WorkerId{from}, WorkerId{to}};
}

const PayloadSizes kHundred = [](ExampleId) { return 100; };

TEST(MoveBytes, CountsFramesPiecesAndAnswers) {
  const placement::MovePlan plan{{move(1, 0, 1), move(2, 0, 1), move(3, 0, 1), move(4, 1, 0)}};
  const auto costs = predict_move_costs(
      plan, kHundred, {.workers = 2, .flow = {.piece_bytes = 150, .batch_examples = 2}});
  // 0 → 1: 324 bytes in 3 pieces, 2 answers. 1 → 0: 108 bytes in 1 piece, 1 answer.
  EXPECT_EQ(costs[0].bytes_sent, 324u + 8u);
  EXPECT_EQ(costs[0].bytes_received, 108u + 2u * 8u);
  EXPECT_EQ(costs[0].sends, 3u + 1u);
  EXPECT_EQ(costs[0].receives, 1u + 2u);
  EXPECT_EQ(costs[0].examples_sent, 3u);
  EXPECT_EQ(costs[0].examples_received, 1u);
  EXPECT_EQ(costs[0].flows_sent, 1u);
  EXPECT_EQ(costs[1].bytes_sent, 108u + 16u);
  EXPECT_EQ(costs[1].flows_received, 1u);
  EXPECT_EQ(costs[1].bytes_local, 0u);
}

TEST(MoveBytes, OfNoMovesAreNone) {
  for (const StorageCost& cost : predict_move_costs({}, kHundred, {.workers = 3})) {
    EXPECT_EQ(cost.bytes_sent + cost.bytes_received + cost.sends + cost.flows_sent, 0u);
  }
}

TEST(MoveBytes, RefuseWorkersThatAreNone) {
  EXPECT_THROW(predict_move_costs({{move(1, 0, 2)}}, kHundred, {.workers = 2}), ConfigError);
}

TEST(MoveBytes, RefuseAPlanThatIsNotSorted) {
  EXPECT_THROW(predict_move_costs({{move(1, 1, 0), move(2, 0, 1)}}, kHundred, {.workers = 2}),
               Error);
}

}  // namespace
}  // namespace impart::store

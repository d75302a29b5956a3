#include "impart/placement/move_plan.h"

#include <algorithm>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/placement/contract.h"

namespace impart::placement {
namespace {

TEST(MovePlan, TurnsTheOldPartitionIntoTheNewOne) {
  for (std::uint64_t number = 0; number < 1000; ++number) {
    const auto before = make_contract_case(number);
    RandomStream random({.seed = number, .purpose = Purpose("after")});
    std::vector<WorkerId> owners(before.previous.examples());
    for (auto& owner : owners) owner = WorkerId{static_cast<std::uint32_t>(random.below(25))};
    const Partition after(owners, 25);

    const MovePlan plan = diff(before.previous, after);
    std::vector<WorkerId> moved(before.previous.owners().begin(), before.previous.owners().end());
    std::set<std::pair<WorkerId, WorkerId>> flows;
    for (const Move& move : plan.moves) {
      ASSERT_EQ(moved[index(move.example)], move.from);
      ASSERT_NE(move.from, move.to);
      moved[index(move.example)] = move.to;
      flows.emplace(move.from, move.to);
    }
    ASSERT_EQ(moved, owners);
    ASSERT_EQ(plan.messages(), flows.size());
    ASSERT_TRUE(
        std::is_sorted(plan.moves.begin(), plan.moves.end(), [](const Move& a, const Move& b) {
          return std::tie(a.from, a.to, a.example) < std::tie(b.from, b.to, b.example);
        }));
  }
}

TEST(MovePlan, RefusesPartitionsOfDifferentExamples) {
  EXPECT_THROW(diff(Partition({WorkerId{0}}, 1), Partition({}, 1)), ConfigError);
}

TEST(Partition, RefusesOwnersThatDoNotExist) {
  EXPECT_THROW(Partition({WorkerId{2}}, 2), DataError);
  EXPECT_THROW(Partition({}, 0), ConfigError);
}

}  // namespace
}  // namespace impart::placement

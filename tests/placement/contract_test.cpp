// The contract finds what is wrong with a heuristic; that the table's rows keep it is tested in
// heuristic_contract_test.cpp.

#include "impart/placement/contract.h"

#include <stdexcept>

#include <gtest/gtest.h>

#include "impart/core/error.h"

namespace impart::placement {
namespace {

/// The breaches of a heuristic that follows `owner_of`(example, importance, spec).
template <class OwnerOf>
std::vector<std::string> breaches_of(OwnerOf owner_of) {
  return find_breaches([&](const Scores& importance, const PartitionSpec& spec) {
    check_spec(importance, spec);
    std::vector<WorkerId> owners(importance.size());
    for (std::uint64_t i = 0; i < owners.size(); ++i) owners[i] = owner_of(i, importance, spec);
    return Partition(std::move(owners), spec.workers);
  });
}

WorkerId in_turn(std::uint64_t turn, const PartitionSpec& spec) {
  return WorkerId{static_cast<std::uint32_t>(turn % spec.workers)};
}

TEST(Contract, IsKeptByDealingInTurn) {
  EXPECT_EQ(breaches_of([](std::uint64_t i, const Scores&, const PartitionSpec& spec) {
              return in_turn(i, spec);
            }),
            std::vector<std::string>{});
}

TEST(Contract, FindsPartsOfDifferentSizes) {
  const auto found = breaches_of([](std::uint64_t i, const Scores&, const PartitionSpec& spec) {
    return in_turn(i / 2, spec);
  });
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[0].starts_with("cover: case ")) << found[0];
  EXPECT_NE(found[0].find(": parts of "), std::string::npos) << found[0];
  EXPECT_TRUE(found[1].starts_with("cover (sticky): case ")) << found[1];
}

TEST(Contract, FindsPartitionsOfOtherExamples) {
  const auto found = find_breaches([](const Scores& importance, const PartitionSpec& spec) {
    check_spec(importance, spec);
    return Partition({}, spec.workers);
  });
  ASSERT_FALSE(found.empty());
  EXPECT_NE(found[0].find("a partition of 0 examples"), std::string::npos) << found[0];
}

TEST(Contract, FindsDecisionsThatAreNotRepeated) {
  std::uint64_t calls = 0;
  const auto found = breaches_of([&](std::uint64_t i, const Scores&, const PartitionSpec& spec) {
    if (i == 0) ++calls;
    return in_turn(i + calls, spec);
  });
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(found[0].starts_with("repetition: case ")) << found[0];
}

TEST(Contract, FindsDecisionsThatDependOnTheTypeOfScores) {
  const auto found =
      breaches_of([](std::uint64_t i, const Scores& scores, const PartitionSpec& spec) {
        const std::uint64_t bytes = scores.visit([](auto values) { return sizeof(values[0]); });
        return in_turn(i + bytes, spec);
      });
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[0].starts_with("doubles: case ")) << found[0];
}

TEST(Contract, FindsASpecThatIsNotChecked) {
  const auto found = find_breaches([](const Scores& importance, const PartitionSpec& spec) {
    std::vector<WorkerId> owners(importance.size());
    for (std::uint64_t i = 0; i < owners.size() && spec.workers > 0; ++i) {
      owners[i] = in_turn(i, spec);
    }
    return Partition(std::move(owners), std::max(spec.workers, 1u));
  });
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0], "refusals: 0 workers: it does not refuse; does it call check_spec?");
}

TEST(Contract, FindsExceptions) {
  const auto found = breaches_of(
      [](std::uint64_t i, const Scores& importance, const PartitionSpec& spec) -> WorkerId {
        if (importance.size() < spec.workers) throw std::runtime_error("too few");
        return in_turn(i, spec);
      });
  ASSERT_FALSE(found.empty());
  EXPECT_NE(found[0].find("it throws: too few"), std::string::npos) << found[0];
}

}  // namespace
}  // namespace impart::placement

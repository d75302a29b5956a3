// What holds for every row of the table of exchanges, over thousands of random inputs.

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/placement/contract.h"
#include "impart/placement/exchanges.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/move_plan.h"
#include "tests/support/temporary_folder.h"

namespace impart::placement {
namespace {

class ExchangeContract : public ::testing::TestWithParam<std::string_view> {
 protected:
  static const ExchangeEntry& entry() { return find_entry(kExchanges, "exchange", GetParam()); }
  static Partition exchange(const ContractCase& c, std::uint64_t earlier = 0) {
    return entry().function(
        c.previous, c.importance,
        {.fraction = c.fraction, .seed = c.number, .epoch = 1, .earlier_exchanges = earlier});
  }
};

TEST_P(ExchangeContract, ChangesNoPartsSize) {
  for (std::uint64_t number = 0; number < kContractCases; ++number) {
    const ContractCase c = make_contract_case(number);
    const Partition after = exchange(c, number % 3);
    ASSERT_EQ(after.examples(), c.previous.examples()) << c.describe();
    ASSERT_EQ(after.sizes(), c.previous.sizes()) << c.describe();
  }
}

TEST_P(ExchangeContract, GivesAwayAtMostTheFractionOfEachPart) {
  for (std::uint64_t number = 0; number < kContractCases; ++number) {
    const ContractCase c = make_contract_case(number);
    auto sizes = c.previous.sizes();
    const auto [smallest, largest] = std::minmax_element(sizes.begin(), sizes.end());
    if (*largest - *smallest <= 1) sizes.assign(sizes.size(), *smallest);
    std::vector<double> given(c.workers);
    for (const Move& move : diff(c.previous, exchange(c)).moves) ++given[index(move.from)];
    for (std::uint32_t worker = 0; worker < c.workers; ++worker) {
      const auto size = static_cast<double>(sizes[worker]);
      ASSERT_LE(given[worker], std::floor(c.fraction * size + 1e-9)) << c.describe();
    }
  }
}

TEST_P(ExchangeContract, IsNotStoppedByAnEmptyPart) {
  // 40, 20, 0 and 20 examples; the importance of workers differs, so that all strategies move some.
  std::vector<WorkerId> owners;
  std::vector<float> importance;
  for (std::uint32_t i = 0; i < 80; ++i) {
    const std::uint32_t worker = i < 40 ? 0 : i < 60 ? 1 : 3;
    owners.push_back(WorkerId{worker});
    importance.push_back(static_cast<float>(1 + worker) + static_cast<float>(i % 7));
  }
  const Partition before(owners, 4);
  std::uint64_t moved = 0;
  for (std::uint32_t epoch = 1; epoch <= 4; ++epoch) {
    const Partition after = entry().function(before, importance, {.fraction = 0.5, .epoch = epoch});
    ASSERT_EQ(after.sizes(), before.sizes());
    moved += diff(before, after).moves.size();
  }
  EXPECT_GT(moved, 0u);
}

TEST_P(ExchangeContract, DecidesTheSameFromTheSameInput) {
  for (std::uint64_t number = 0; number < kContractCases; number += 10) {
    const ContractCase c = make_contract_case(number);
    ASSERT_EQ(exchange(c), exchange(make_contract_case(number))) << c.describe();
  }
}

TEST_P(ExchangeContract, MovesNothingAtFractionZeroOrWithOneWorker) {
  const std::vector<float> importance = {3, 1, 2, 5, 4, 6};
  const Partition two = deal_in_stripes(importance, {.workers = 2});
  const Partition one = deal_in_stripes(importance, {.workers = 1});
  EXPECT_EQ(entry().function(two, importance, {.fraction = 0}), two);
  EXPECT_EQ(entry().function(one, importance, {.fraction = 1}), one);
}

TEST_P(ExchangeContract, RefusesWhatCannotBe) {
  const std::vector<float> importance = {3, 1, 2};
  const Partition partition = deal_in_stripes(importance, {.workers = 2});
  EXPECT_THROW(entry().function(partition, importance, {.fraction = 1.5}), ConfigError);
  EXPECT_THROW(entry().function(partition, importance, {.fraction = -0.1}), ConfigError);
  EXPECT_THROW(entry().function(partition, importance, {.fraction = std::nan("")}), ConfigError);
  EXPECT_EQ(testing::message_of<ConfigError>(
                [&] { entry().function(partition, std::vector<float>(2), {}); }),
            "there are 2 scores for 3 examples");
}

INSTANTIATE_TEST_SUITE_P(, ExchangeContract, ::testing::ValuesIn(names_of(kExchanges)),
                         [](const auto& param) {
                           std::string name(param.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace impart::placement

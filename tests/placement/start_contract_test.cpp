// What holds for every row of the table of starts, over thousands of random inputs.

#include <algorithm>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/placement/contract.h"
#include "impart/placement/starts.h"
#include "tests/support/temporary_folder.h"

namespace impart::placement {
namespace {

class StartContract : public ::testing::TestWithParam<std::string_view> {
 protected:
  static const StartEntry& entry() { return find_entry(kStarts, "start", GetParam()); }

  /// Labels with gaps between them, so that there are classes without examples.
  static StartSpec spec_of(const ContractCase& c, PartSizes sizes = PartSizes::kFree) {
    constexpr double kAlphas[] = {kLeastAlpha, 0.1, 1, 100, kMostAlpha};
    return {.examples = c.importance.size(),
            .workers = c.workers,
            .seed = c.number,
            .labels = c.labels,
            .alpha = kAlphas[c.number % std::size(kAlphas)],
            .sizes = sizes,
            .given = &c.previous};
  }
};

std::uint64_t spread(const Partition& partition) {
  const auto sizes = partition.sizes();
  const auto [smallest, largest] = std::minmax_element(sizes.begin(), sizes.end());
  return *largest - *smallest;
}

TEST_P(StartContract, GivesEveryExampleToOneOfTheWorkers) {
  for (std::uint64_t number = 0; number < kContractCases; ++number) {
    const ContractCase c = make_contract_case(number);
    for (const PartSizes sizes : {PartSizes::kFree, PartSizes::kEven}) {
      const Partition start = entry().function(spec_of(c, sizes));
      ASSERT_EQ(start.examples(), c.importance.size()) << c.describe();
      ASSERT_EQ(start.workers(), c.workers) << c.describe();
    }
  }
}

TEST_P(StartContract, DecidesTheSameFromTheSameInput) {
  for (std::uint64_t number = 0; number < kContractCases; number += 10) {
    const ContractCase c = make_contract_case(number), copy = make_contract_case(number);
    ASSERT_EQ(entry().function(spec_of(c)), entry().function(spec_of(copy))) << c.describe();
  }
}

TEST_P(StartContract, IsEvenIfItsRowSaysSo) {
  if (!entry().is_even) return;
  for (std::uint64_t number = 0; number < kContractCases; ++number) {
    const ContractCase c = make_contract_case(number);
    ASSERT_LE(spread(entry().function(spec_of(c))), 1u) << c.describe();
  }
}

TEST_P(StartContract, LooksAtLabelsIfItsRowSaysSo) {
  const ContractCase c = make_contract_case(1);
  StartSpec spec = spec_of(c);
  spec.labels = {};
  if (!entry().uses_labels) {
    EXPECT_NO_THROW(entry().function(spec));
    return;
  }
  EXPECT_EQ(testing::message_of<ConfigError>([&] { entry().function(spec); }),
            "start " + std::string(entry().name) + " needs the label of every example");
}

TEST_P(StartContract, RefusesWhatCannotBe) {
  const std::vector<std::uint32_t> two = {0, 1};
  const Partition given({WorkerId{0}, WorkerId{0}, WorkerId{0}}, 1);
  EXPECT_THROW(entry().function({.examples = 2, .workers = 0, .labels = two, .given = &given}),
               ConfigError);
  EXPECT_THROW(entry().function({.examples = 3, .workers = 2, .labels = two, .given = &given}),
               ConfigError);
}

INSTANTIATE_TEST_SUITE_P(, StartContract, ::testing::ValuesIn(names_of(kStarts)),
                         [](const auto& param) {
                           std::string name(param.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace impart::placement

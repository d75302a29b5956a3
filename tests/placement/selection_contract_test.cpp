// What holds for every row of the table of selections, over thousands of random inputs.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/placement/contract.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/selections.h"
#include "tests/support/temporary_folder.h"

namespace impart::placement {
namespace {

class SelectionContract : public ::testing::TestWithParam<std::string_view> {
 protected:
  static const SelectionEntry& entry() { return find_entry(kSelections, "selection", GetParam()); }

  static SelectionSpec spec_of(const ContractCase& c) {
    return {.seed = c.number,
            .epoch = static_cast<std::uint32_t>(1 + c.number % 5),
            .epochs = 20,
            .share = std::min(c.fraction, 0.9),
            .scope = c.number % 2 == 0 ? SelectionScope::kPart : SelectionScope::kAll,
            .threshold = 0,
            .after = static_cast<std::uint32_t>(1 + c.number % 5),
            .ramp = 10};
  }

  static Selected select(const ContractCase& c, const SelectionSpec& spec,
                         std::span<const ExampleId> gone = {}) {
    const Parts parts = c.previous.parts();
    const std::vector<std::uint8_t> correct(c.importance.size(), 1);
    return select_visits(entry(),
                         {.parts = parts,
                          .examples = c.importance.size(),
                          .scores = c.importance,
                          .correct = correct},
                         spec, gone);
  }

  /// Calls f(case, spec, selected) for all cases.
  template <class Function>
  static void for_each_case(std::uint64_t step, Function&& f) {
    for (std::uint64_t number = 0; number < kContractCases; number += step) {
      const ContractCase c = make_contract_case(number);
      const SelectionSpec spec = spec_of(c);
      f(c, spec, select(c, spec));
    }
  }

  static std::vector<ExampleId> list(const Parts& parts, std::uint32_t worker) {
    const auto ids = parts.of(WorkerId{worker});
    return {ids.begin(), ids.end()};
  }
};

TEST_P(SelectionContract, HidesSoMuchLessThatAllMakeTheSameWholeSteps) {
  if (GetParam() == "prune") GTEST_SKIP() << "what goes for good goes once";
  constexpr std::uint64_t kBatch = 8;
  std::uint64_t shorter = 0;
  for_each_case(3, [&](const ContractCase& c, SelectionSpec spec, const Selected& any) {
    spec.multiple = kBatch;
    const Selected selected = select(c, spec);
    const Parts parts = c.previous.parts();
    std::uint64_t most = 0, wanted = 0;
    for (std::uint32_t worker = 0; worker < parts.workers(); ++worker) {
      most = std::max<std::uint64_t>(most, selected.visits.of(WorkerId{worker}).size());
      wanted = std::max<std::uint64_t>(wanted, any.visits.of(WorkerId{worker}).size());
    }
    ASSERT_GE(most, wanted) << c.describe();
    ASSERT_LT(most, wanted + kBatch) << c.describe();
    for (std::uint32_t worker = 0; worker < parts.workers(); ++worker) {
      const std::uint64_t visits = selected.visits.of(WorkerId{worker}).size();
      const std::uint64_t part = parts.of(WorkerId{worker}).size();
      ASSERT_TRUE(visits == part || (visits == most && visits % kBatch == 0))
          << visits << " of " << part << ": " << c.describe();
      shorter += visits != part;
    }
  });
  if (GetParam() != "all" && GetParam() != "weights") {
    EXPECT_GT(shorter, 0u);
  }
}

TEST_P(SelectionContract, VisitsNothingButTheWorkersOwnPart) {
  for_each_case(1, [](const ContractCase& c, const SelectionSpec&, const Selected& selected) {
    ASSERT_EQ(selected.visits.workers(), c.workers);
    for (std::uint32_t worker = 0; worker < c.workers; ++worker) {
      for (const ExampleId id : selected.visits.of(WorkerId{worker})) {
        ASSERT_EQ(c.previous.owner(id), WorkerId{worker}) << c.describe();
      }
    }
  });
}

TEST_P(SelectionContract, VisitsEverythingOfWhichNothingIsKnown) {
  if (entry().needs.source == ImportanceSource::kNone) GTEST_SKIP() << "looks at no scores";
  for_each_case(1, [](const ContractCase& c, const SelectionSpec&, const Selected& selected) {
    std::vector<bool> visited(c.importance.size());
    for (std::uint32_t worker = 0; worker < c.workers; ++worker) {
      for (const ExampleId id : selected.visits.of(WorkerId{worker})) visited[index(id)] = true;
    }
    for (std::size_t i = 0; i < visited.size(); ++i) {
      ASSERT_TRUE(visited[i] || std::isfinite(c.importance[i])) << c.describe() << " " << i;
    }
  });
}

TEST_P(SelectionContract, GivesWeightsThatSumToThePartsSizeWhereItPromisesThat) {
  if (!entry().needs.keeps_sum) GTEST_SKIP() << "promises nothing";
  for_each_case(1, [](const ContractCase& c, SelectionSpec spec, const Selected&) {
    spec.scope = SelectionScope::kPart;
    spec.multiple = 1 + 7 * (c.number % 2);
    const Selected selected = select(c, spec);
    const auto sizes = c.previous.sizes();
    for (std::uint32_t worker = 0; worker < c.workers; ++worker) {
      double sum = 0;
      for (const ExampleId id : selected.visits.of(WorkerId{worker})) {
        sum += selected.weights.empty() ? 1 : double{selected.weights[index(id)]};
      }
      const auto size = static_cast<double>(sizes[worker]);
      ASSERT_NEAR(sum, size, 1e-5 * size) << c.describe();
    }
  });
}

TEST_P(SelectionContract, ChoosesTheSameFromTheSameInput) {
  for_each_case(10, [](const ContractCase& c, const SelectionSpec& spec, const Selected& first) {
    const Selected second = select(make_contract_case(c.number), spec);
    ASSERT_EQ(first.weights, second.weights) << c.describe();
    ASSERT_EQ(first.gone, second.gone) << c.describe();
    for (std::uint32_t worker = 0; worker < c.workers; ++worker) {
      ASSERT_EQ(list(first.visits, worker), list(second.visits, worker)) << c.describe();
    }
  });
}

TEST_P(SelectionContract, ListsIdsAscendingWithWeightsThatAreNumbers) {
  for_each_case(1, [](const ContractCase& c, const SelectionSpec&, const Selected& selected) {
    for (std::uint32_t worker = 0; worker < c.workers; ++worker) {
      const auto ids = list(selected.visits, worker);
      ASSERT_TRUE(std::is_sorted(ids.begin(), ids.end())) << c.describe();
    }
    for (const float weight : selected.weights) {
      ASSERT_TRUE(std::isfinite(weight) && weight >= 0) << c.describe();
    }
  });
}

TEST_P(SelectionContract, VisitsEverythingWithWeight1InTheFinalEpochs) {
  for_each_case(10, [](const ContractCase& c, SelectionSpec spec, const Selected&) {
    spec.final_epochs = spec.epochs - spec.epoch;
    const Selected selected = select(c, spec);
    EXPECT_TRUE(selected.weights.empty());
    EXPECT_EQ(count_visits(selected, c.importance.size()).visits, c.importance.size());
  });
}

TEST_P(SelectionContract, NeverVisitsWhatIsGone) {
  for_each_case(10, [](const ContractCase& c, const SelectionSpec& spec, const Selected&) {
    std::vector<ExampleId> gone;
    for (std::uint64_t i = 0; i < c.importance.size(); i += 3) gone.push_back(ExampleId{i});
    const Selected selected = select(c, spec, gone);
    for (std::uint32_t worker = 0; worker < c.workers; ++worker) {
      for (const ExampleId id : selected.visits.of(WorkerId{worker})) ASSERT_NE(index(id) % 3, 0u);
    }
  });
}

TEST_P(SelectionContract, LetsAllWorkersFinishTogetherUnderStripes) {
  constexpr std::uint32_t kWorkers = 12;
  std::vector<float> scores(kWorkers * 50);
  std::iota(scores.begin(), scores.end(), 0.0f);
  const Parts parts = deal_in_stripes(scores, {.workers = kWorkers}).parts();
  const std::vector<std::uint8_t> correct(scores.size(), 1);
  const SelectionInput input{
      .parts = parts, .examples = scores.size(), .scores = scores, .correct = correct};
  for (const auto scope : {SelectionScope::kPart, SelectionScope::kAll}) {
    const Selected selected = select_visits(
        entry(), input,
        {.epoch = 3, .epochs = 9, .share = 0.37, .scope = scope, .threshold = 0, .after = 3});
    std::vector<std::size_t> sizes;
    for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
      sizes.push_back(selected.visits.of(WorkerId{worker}).size());
    }
    EXPECT_LE(std::ranges::max(sizes) - std::ranges::min(sizes), 1u);
  }
}

TEST_P(SelectionContract, TakesPartsOf0And1AndDoesNotLoseTheOne) {
  const Partition partition({WorkerId{1}}, 3);
  const Parts parts = partition.parts();
  const std::vector<float> scores = {std::numeric_limits<float>::quiet_NaN()};
  const std::vector<std::uint8_t> correct = {0};
  for (std::uint32_t epoch = 0; epoch < 4; ++epoch) {
    const Selected selected = select_visits(
        entry(), {.parts = parts, .examples = 1, .scores = scores, .correct = correct},
        {.epoch = epoch, .epochs = 10, .share = 0.9, .after = epoch});
    EXPECT_EQ(selected.visits.of(WorkerId{1}).size(), 1u);
    EXPECT_TRUE(selected.visits.of(WorkerId{0}).empty());
  }
}

TEST_P(SelectionContract, RefusesWhatCannotBe) {
  const ContractCase c = make_contract_case(4);
  const double nan = std::nan("");
  EXPECT_EQ(testing::message_of<ConfigError>([&] { select(c, {.share = 1}); }),
            "selection: share is 1; allowed: 0 to less than 1");
  for (const double share : {1.5, -0.1, nan}) {
    EXPECT_THROW(select(c, {.share = share}), ConfigError) << share;
  }
  EXPECT_THROW(select(c, {.confidence = 0}), ConfigError);
  EXPECT_THROW(select(c, {.budget = 0}), ConfigError);
  EXPECT_THROW(select(c, {.mix = nan}), ConfigError);
  EXPECT_THROW(select(c, {.threshold = -1}), ConfigError);
  EXPECT_THROW(select(c, {.start = 0}), ConfigError);
  EXPECT_THROW(select(c, {.epsilon = nan}), ConfigError);
}

TEST_P(SelectionContract, SaysThatScoresAreMissing) {
  if (entry().needs.source == ImportanceSource::kNone) GTEST_SKIP() << "looks at no scores";
  const Partition partition({WorkerId{0}, WorkerId{0}, WorkerId{0}}, 1);
  const Parts parts = partition.parts();
  const std::vector<float> two(2);
  EXPECT_EQ(testing::message_of<ConfigError>([&] {
              select_visits(entry(), {.parts = parts, .examples = 3, .scores = two}, {});
            }),
            "there are 2 scores for 3 examples");
}

INSTANTIATE_TEST_SUITE_P(, SelectionContract, ::testing::ValuesIn(names_of(kSelections)),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace impart::placement

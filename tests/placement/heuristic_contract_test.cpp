// What holds for every row of the table of heuristics, over thousands of random inputs.

#include <algorithm>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/placement/contract.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/ranking.h"
#include "tests/support/temporary_folder.h"

namespace impart::placement {
namespace {

class HeuristicContract : public ::testing::TestWithParam<std::tuple<std::string_view, bool>> {
 protected:
  static std::string breach_of(PromiseCheck& check) {
    const auto& [name, is_sticky] = GetParam();
    return check(find_entry(kHeuristics, "heuristic", name).function, is_sticky);
  }
};

TEST_P(HeuristicContract, CoversEveryExampleWithSizesWithinOne) {
  EXPECT_EQ(breach_of(check_cover), "");
}

TEST_P(HeuristicContract, DecidesTheSameFromTheSameInput) {
  EXPECT_EQ(breach_of(check_repetition), "");
}

TEST_P(HeuristicContract, DecidesTheSameFromDoublesAsFromFloats) {
  EXPECT_EQ(breach_of(check_doubles), "");
}

TEST_P(HeuristicContract, RefusesWhatCannotBe) {
  EXPECT_EQ(breach_of(check_refusals), "");
}

INSTANTIATE_TEST_SUITE_P(, HeuristicContract,
                         ::testing::Combine(::testing::ValuesIn(names_of(kHeuristics)),
                                            ::testing::Bool()),
                         [](const auto& param) {
                           std::string name(std::get<0>(param.param));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name + (std::get<1>(param.param) ? "_sticky" : "");
                         });

TEST(Random, DiffersByEpochAndSeed) {
  const std::vector<float> importance(100);
  const Partition partition = shuffle_evenly(importance, {.workers = 4, .seed = 1, .epoch = 1});
  EXPECT_FALSE(partition == shuffle_evenly(importance, {.workers = 4, .seed = 1, .epoch = 2}));
  EXPECT_FALSE(partition == shuffle_evenly(importance, {.workers = 4, .seed = 2, .epoch = 1}));
}

TEST(Blocks, GiveTheMostImportantToWorkerZeroAndLoseNobody) {
  const std::vector<float> importance = {5, 1, 4, 2, 3, 0, 9};
  const Partition partition = cut_into_blocks(importance, {.workers = 3});
  // Ranking 6 0 2 4 3 1 5, cut before ranks ⌊7/3⌋ and ⌊14/3⌋.
  EXPECT_EQ(partition, Partition({WorkerId{0}, WorkerId{2}, WorkerId{1}, WorkerId{2}, WorkerId{1},
                                  WorkerId{2}, WorkerId{0}},
                                 3));
}

TEST(ClassStripes, GiveEveryWorkerTheSameClasses) {
  std::vector<float> importance;
  std::vector<std::uint32_t> labels;
  RandomStream random({.seed = 5, .purpose = Purpose("test")});
  for (int i = 0; i < 1000; ++i) {
    importance.push_back(static_cast<float>(random.uniform()));
    labels.push_back(static_cast<std::uint32_t>(random.below(7)));
  }
  const Partition partition = deal_classes_in_stripes(importance, {.workers = 8, .labels = labels});
  std::vector<std::vector<int>> counts(7, std::vector<int>(8));
  for (std::uint64_t i = 0; i < 1000; ++i) {
    ++counts[labels[i]][index(partition.owner(ExampleId{i}))];
  }
  for (const auto& per_worker : counts) {
    const auto [least, most] = std::minmax_element(per_worker.begin(), per_worker.end());
    EXPECT_LE(*most - *least, 1);
  }
}

TEST(ClassStripes, SayThatTheyNeedLabels) {
  const std::vector<float> importance = {1, 2};
  EXPECT_EQ(testing::message_of<ConfigError>([&] { deal_classes_in_stripes(importance, {}); }),
            "class-stripes needs the label of every example");
}

TEST(Balanced, KeepsSumsWithinTheSpreadOfOneRow) {
  RandomStream random({.seed = 6, .purpose = Purpose("test")});
  std::vector<float> importance(1000);
  for (float& value : importance) value = static_cast<float>(random.exponential());
  const Partition partition = deal_balanced(importance, {.workers = 8});
  std::vector<double> sums(8);
  for (std::uint64_t i = 0; i < importance.size(); ++i) {
    sums[index(partition.owner(ExampleId{i}))] += double{importance[i]};
  }
  const auto ranking = rank_by_importance(importance);
  double widest_row = 0;
  for (std::size_t row = 0; row + 8 <= ranking.size(); row += 8) {
    widest_row = std::max(widest_row, double{importance[index(ranking[row])]} -
                                          double{importance[index(ranking[row + 7])]});
  }
  const auto [poorest, richest] = std::minmax_element(sums.begin(), sums.end());
  EXPECT_LE(*richest - *poorest, widest_row);
}

}  // namespace
}  // namespace impart::placement

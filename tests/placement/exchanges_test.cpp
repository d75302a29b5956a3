#include "impart/placement/exchanges.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "impart/core/random.h"
#include "impart/placement/exchanges/exchange_steps.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/measures/imbalance.h"
#include "impart/placement/move_plan.h"
#include "tests/placement/exponential_scores.h"

namespace impart::placement {
namespace {

/// Which workers send to which.
std::map<std::uint32_t, std::set<std::uint32_t>> flows(const Partition& before,
                                                       const Partition& after) {
  std::map<std::uint32_t, std::set<std::uint32_t>> receivers;
  for (const Move& move : diff(before, after).moves)
    receivers[index(move.from)].insert(index(move.to));
  return receivers;
}

TEST(Exchanges, KeepTheLongRunMeanAtTheFraction) {
  const std::vector<float> importance(70, 1.0f);
  const Partition partition = deal_in_stripes(importance, {.workers = 10});
  std::uint64_t given = 0;
  for (std::uint64_t earlier = 0; earlier < 100; ++earlier) {
    given +=
        examples_to_give(partition, importance, {.fraction = 0.1, .earlier_exchanges = earlier})
            .back();
  }
  EXPECT_EQ(given, 70u);  // 0.1 of 7 examples, 100 times
}

TEST(Exchanges, DoNotLoseAnExampleToRounding) {
  const std::vector<float> importance(400, 1.0f);
  const Partition partition = deal_in_stripes(importance, {.workers = 4});
  EXPECT_EQ(examples_to_give(partition, importance, {.fraction = 0.29}),
            (std::vector<std::uint64_t>{29, 29, 29, 29}));
}

TEST(Partial, SendsToManyWorkersAndMovesAlmostTheFraction) {
  const auto scores = exponential_scores(8000, 1);
  const Partition before = shuffle_evenly(scores, {.workers = 8});
  const Partition after = exchange_uniformly(before, scores, {.fraction = 0.3, .seed = 1});
  // Fixed points of the permutations stay: 1/8 of what was chosen.
  EXPECT_NEAR(static_cast<double>(diff(before, after).moves.size()), 0.3 * 8000 * 7 / 8, 120);
  EXPECT_EQ(diff(before, after).messages(), 56u);
}

TEST(ImportanceSampling, PrefersImportantExamplesAndNeverZerosBeforeOthers) {
  std::vector<float> scores(4000, 0.0f);
  for (std::size_t i = 0; i < scores.size(); i += 4) scores[i] = 1.0f;
  const Partition before = shuffle_evenly(scores, {.workers = 4});
  const Partition after = exchange_by_importance(before, scores, {.fraction = 0.2, .seed = 2});
  for (const Move& move : diff(before, after).moves) EXPECT_EQ(scores[index(move.example)], 1.0f);
}

TEST(ImportanceSampling, DrawsInProportionToImportance) {
  // Of two examples per worker, one has three times the importance: it goes first in 3 of 4 cases.
  std::vector<float> scores;
  for (int i = 0; i < 4000; ++i) scores.push_back(i % 2 == 0 ? 3.0f : 1.0f);
  std::vector<WorkerId> owners;
  for (std::uint32_t i = 0; i < 4000; ++i) owners.push_back(WorkerId{i / 2});
  const Partition partition(owners, 2000);
  const std::vector<std::uint64_t> one_each(2000, 1);
  int important = 0;
  for (const auto& chosen :
       choose_by_importance(partition.parts(), scores, one_each, {.seed = 3})) {
    important += scores[index(chosen[0])] == 3.0f ? 1 : 0;
  }
  EXPECT_NEAR(important / 2000.0, 0.75, 0.04);
}

TEST(Pairs, HaveOnePartnerEachAndLeaveTheMiddleOneOut) {
  const auto scores = exponential_scores(700, 4);
  const Partition before = shuffle_evenly(scores, {.workers = 7});
  const Partition after = exchange_in_pairs(before, scores, {.fraction = 0.5, .seed = 4});
  const auto receivers = flows(before, after);
  EXPECT_EQ(receivers.size(), 6u);
  for (const auto& [from, to] : receivers) {
    ASSERT_EQ(to.size(), 1u);
    EXPECT_EQ(*receivers.at(*to.begin()).begin(), from) << "partners swap with each other";
  }
}

TEST(Pairs, PutTheLargestImportanceTogetherWithTheSmallest) {
  const std::vector<double> keys = {0.5, 9, 3, 1};
  const auto pairs = pair_extremes(keys, std::vector<std::uint64_t>(keys.size(), 1));
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0], (std::pair{WorkerId{1}, WorkerId{0}}));
  EXPECT_EQ(pairs[1], (std::pair{WorkerId{2}, WorkerId{3}}));
}

TEST(Pairs, LeaveOutWhoOffersNothing) {
  const auto pairs =
      pair_extremes(std::vector<double>{5, 9, 3, 1}, std::vector<std::uint64_t>{2, 0, 1, 1});
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0], (std::pair{WorkerId{0}, WorkerId{3}}));
}

TEST(Partial, LetsUnevenPartsGiveTheirOwnShare) {
  // 60, 30 and 10 examples: in each of the first slots three permute, then two, then one with
  // itself.
  std::vector<WorkerId> owners;
  for (std::uint32_t i = 0; i < 100; ++i)
    owners.push_back(WorkerId{i < 60 ? 0u : i < 90 ? 1u : 2u});
  const Partition before(owners, 3);
  const std::vector<float> nothing(100);
  std::vector<double> given(3);
  for (std::uint32_t epoch = 0; epoch < 200; ++epoch) {
    const Partition after = exchange_uniformly(before, nothing, {.fraction = 0.5, .epoch = epoch});
    ASSERT_EQ(after.sizes(), before.sizes());
    for (const Move& move : diff(before, after).moves) given[index(move.from)] += 1.0 / 200;
  }
  // A permutation of k moves k - 1 on average: 5 slots of three, 10 of two.
  EXPECT_NEAR(given[2], 5 * 2.0 / 3, 0.3);
  EXPECT_NEAR(given[1], 5 * 2.0 / 3 + 10 * 0.5, 0.4);
  EXPECT_NEAR(given[0], given[1], 0.4);
}

double cv_of_sums(const Partition& partition, const std::vector<float>& scores) {
  const auto sums = measure_imbalance(partition, scores).sums;
  double mean = 0, squares = 0;
  for (const double sum : sums) mean += sum / static_cast<double>(sums.size());
  for (const double sum : sums)
    squares += (sum - mean) * (sum - mean) / static_cast<double>(sums.size());
  return std::sqrt(squares) / mean;
}

TEST(BalancePair, BalancesTenTimesMoreThanIsPairOnSkewedImportance) {
  // Heavy tails: a random partition is out of balance because of its few hardest examples, and
  // swapping hard for hard only changes which worker has more of them.
  double start = 0, after_is_pair = 0, after_balance_pair = 0;
  constexpr int kPartitions = 40;
  for (std::uint32_t i = 0; i < kPartitions; ++i) {
    auto scores = exponential_scores(8000, i);
    for (float& score : scores) score = std::exp(0.8f * score);
    const Partition before = shuffle_evenly(scores, {.workers = 8, .seed = i});
    const ExchangeSpec spec{.fraction = 0.1, .seed = i};
    start += cv_of_sums(before, scores) / kPartitions;
    after_is_pair += cv_of_sums(exchange_in_pairs(before, scores, spec), scores) / kPartitions;
    after_balance_pair +=
        cv_of_sums(exchange_to_balance(before, scores, spec), scores) / kPartitions;
  }
  std::cout << "cv of sums: " << start << ", after is-pair " << after_is_pair
            << ", after balance-pair " << after_balance_pair << '\n';
  EXPECT_GT(start - after_balance_pair, 10 * std::abs(start - after_is_pair));
}

TEST(BalancePair, MovesNoMoreThanBalanceNeeds) {
  const std::vector<float> scores = {4, 1, 1, 1, 1, 2};  // sums 6 and 4
  const Partition before(
      {WorkerId{0}, WorkerId{0}, WorkerId{0}, WorkerId{1}, WorkerId{1}, WorkerId{1}}, 2);
  // Swapping 4 for 1 overshoots by as much as it was off: better none.
  EXPECT_EQ(exchange_to_balance(before, scores, {.fraction = 1}), before);
}

}  // namespace
}  // namespace impart::placement

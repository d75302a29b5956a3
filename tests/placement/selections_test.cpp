// The rules of the single selections, and mistakes that are known from elsewhere.

#include "impart/placement/selections.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/ownership.h"
#include "impart/placement/step_plan.h"
#include "tests/placement/exponential_scores.h"
#include "tests/support/temporary_folder.h"

namespace impart::placement {
namespace {

constexpr float kUnknown = std::numeric_limits<float>::infinity();

Partition one_worker(std::uint64_t examples) {
  return {std::vector<WorkerId>(examples, WorkerId{0}), 1};
}

/// What is chosen, for all workers or for one that has everything.
struct Choice {
  std::string_view name;
  std::vector<float> scores;
  SelectionSpec spec = {};
  std::vector<std::uint8_t> correct = {};

  Selected of(const Partition& partition) const {
    const Parts parts = partition.parts();
    return select_visits(
        find_entry(kSelections, "selection", name),
        {.parts = parts, .examples = partition.examples(), .scores = scores, .correct = correct},
        spec);
  }
  Selected of_one() const { return of(one_worker(scores.size())); }
};

std::vector<std::uint64_t> visits(const Selected& selected, std::uint32_t worker = 0) {
  std::vector<std::uint64_t> ids;
  for (const ExampleId id : selected.visits.of(WorkerId{worker})) ids.push_back(index(id));
  return ids;
}

using Ids = std::vector<std::uint64_t>;

TEST(CountHidden, CountsEveryExampleThatNobodyVisits) {
  const std::vector<std::vector<ExampleId>> first = {{ExampleId{2}, ExampleId{2}}, {ExampleId{1}}};
  const std::vector<std::vector<ExampleId>> second = {{}, {ExampleId{3}}};
  std::vector<std::uint32_t> times(5);
  count_hidden({.visits = parts_of(first)}, times);
  EXPECT_EQ(times, (std::vector<std::uint32_t>{1, 0, 0, 1, 1}));
  count_hidden({.visits = parts_of(second)}, times);
  EXPECT_EQ(times, (std::vector<std::uint32_t>{2, 1, 1, 1, 2}));
}

TEST(CountHidden, CountsNothingWhereThereAreNoNumbers) {
  const std::vector<std::vector<ExampleId>> visits = {{ExampleId{2}}};
  count_hidden({.visits = parts_of(visits)}, {});
}

TEST(CountHidden, AgreesWithTheCountsOfEpochs) {
  std::vector<std::uint32_t> times(103);
  std::uint64_t hidden = 0;
  for (std::uint32_t epoch = 0; epoch < 7; ++epoch) {
    const Selected selected =
        Choice{"random", std::vector<float>(103), {.epoch = epoch, .share = 0.3}}.of_one();
    hidden += count_visits(selected, 103).hidden;
    count_hidden(selected, times);
  }
  EXPECT_EQ(std::accumulate(times.begin(), times.end(), std::uint64_t{0}), hidden);
}

TEST(RandomSelection, HidesTheShareExactlyAndMakesUpForRounding) {
  std::size_t hidden = 0;
  for (std::uint32_t epoch = 0; epoch < 4; ++epoch) {
    const Selected selected =
        Choice{"random", std::vector<float>(10), {.epoch = epoch, .share = 0.25}}.of_one();
    const std::size_t now = 10 - visits(selected).size();
    EXPECT_TRUE(now == 2 || now == 3);
    EXPECT_FLOAT_EQ(selected.weights[0], 10.0f / static_cast<float>(10 - now));
    hidden += now;
  }
  EXPECT_EQ(hidden, 10u);
}

TEST(RandomSelection, HidesOthersInAnotherEpochAndForAnotherWorker) {
  const Choice first{"random", std::vector<float>(100), {.epoch = 1}};
  Choice second = first;
  second.spec.epoch = 2;
  EXPECT_NE(visits(first.of_one()), visits(second.of_one()));
}

// In float32 an index above 2^24 becomes its neighbour.
TEST(RandomSelection, KnowsExamplesBeyond2To24Apart) {
  constexpr std::uint64_t kMany = (1u << 24) + 101;
  std::vector<std::vector<ExampleId>> owned(1);  // the last hundred: the others take long to hide
  for (std::uint64_t i = kMany - 100; i < kMany; ++i) owned[0].push_back(ExampleId{i});
  const Parts parts = parts_of(owned);
  const Selected selected = hide_randomly({.parts = parts, .examples = kMany}, {.share = 0.5});
  const Ids ids = visits(selected);
  EXPECT_EQ(ids.size(), 50u);
  EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
  EXPECT_TRUE(std::any_of(ids.begin(), ids.end(), [](std::uint64_t id) { return id % 2 == 1; }));
}

TEST(InfoBatch, ThinsOutWhatIsBelowTheMeanAndReweighsTheRestOfIt) {
  // The mean is 2: 0, 1, 2 and 5 are below it.
  const Selected selected = Choice{"infobatch", {1, 1, 1, 3, 4, 1, 3}}.of_one();
  const Ids ids = visits(selected);
  EXPECT_EQ(ids.size(), 5u);
  for (const std::uint64_t id : ids) {
    const bool is_easy = id != 3 && id != 4 && id != 6;
    EXPECT_FLOAT_EQ(selected.weights[id], is_easy ? 2.0f : 1.0f);
  }
}

// Elsewhere the sum of equal scores was a little more than their number times the score, and half
// of the data was left out, with doubled weights.
TEST(InfoBatch, LeavesOutNothingWhereAllScoresAreEqual) {
  for (const float score : {0.1f, 2.302585f, 1e-30f, 3e38f}) {
    for (const std::size_t size : {3, 7, 50'000}) {
      const Choice choice{"infobatch", std::vector<float>(size, score)};
      EXPECT_EQ(visits(choice.of_one()).size(), size) << score;
    }
  }
}

TEST(InfoBatch, VisitsEverythingOnceWithWeight1AsLongAsNothingIsKnown) {
  const Selected selected =
      Choice{"infobatch", std::vector<float>(1000, kUnknown), {.share = 0.5}}.of_one();
  EXPECT_EQ(visits(selected).size(), 1000u);
  EXPECT_TRUE(std::ranges::all_of(selected.weights, [](float weight) { return weight == 1; }));
}

TEST(InfoBatch, TakesTheMeanOfThePartOrOfAll) {
  // Worker 0 has the even ids. Its own mean is 1, that of all is 5.5.
  const std::vector<float> scores = {0, 10, 0, 10, 2, 10, 2, 10};
  std::vector<WorkerId> owners;
  for (std::uint32_t i = 0; i < 8; ++i) owners.push_back(WorkerId{i % 2});
  const Partition partition(owners, 2);
  EXPECT_EQ(visits(Choice{"infobatch", scores}.of(partition)).size(), 3u);
  const Choice of_all{"infobatch", scores, {.scope = SelectionScope::kAll}};
  EXPECT_EQ(visits(of_all.of(partition)).size(), 2u);
  EXPECT_EQ(visits(of_all.of(partition), 1).size(), 4u);
}

TEST(InfoBatch, AlwaysKeepsOneThatStandsForTheOthers) {
  for (std::uint32_t epoch = 0; epoch < 10; ++epoch) {
    const Selected selected = Choice{"infobatch", {0, 1}, {.epoch = epoch, .share = 0.99}}.of_one();
    EXPECT_EQ(visits(selected).size(), 2u);
  }
}

TEST(Kakurenbo, HidesTheEasiestThatWereRightWithConfidence) {
  // exp(-0.3) = 0.74, exp(-0.4) = 0.67.
  const std::vector<float> scores = {0.1f, 0.3f, 0.4f, 0.2f, 5, kUnknown, 6, 7, 8, 9};
  const std::vector<std::uint8_t> correct = {1, 1, 1, 0, 1, 0, 1, 1, 1, 1};
  const Choice choice{"kakurenbo", scores, {.share = 0.4, .confidence = 0.7}, correct};
  EXPECT_EQ(visits(choice.of_one()), (Ids{2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_TRUE(choice.of_one().weights.empty());
}

TEST(Kakurenbo, HidesNoMoreThanTheShareAndLessInLaterStages) {
  const std::vector<std::uint8_t> correct(100, 1);
  Ids hidden;
  for (const std::uint32_t epoch : {0, 24, 25, 50, 75, 99}) {
    const Choice choice{"kakurenbo",
                        std::vector<float>(100, 0.01f),
                        {.epoch = epoch, .epochs = 100, .share = 0.3},
                        correct};
    hidden.push_back(100 - visits(choice.of_one()).size());
  }
  EXPECT_EQ(hidden, (Ids{30, 30, 24, 18, 12, 12}));
}

TEST(Sampling, VisitsAsOftenAsTheBudgetSaysAndUndoesTheChances) {
  const std::vector<float> scores = {1, 1, 8};
  const Choice choice{"sampling", scores, {.budget = 20, .mix = 0.5, .threshold = 0}};
  const Selected selected = choice.of_one();
  EXPECT_EQ(visits(selected).size(), 60u);
  for (const std::uint64_t id : {0, 1, 2}) {
    const double chance = 0.5 / 3 + 0.5 * scores[id] / 10;
    EXPECT_NEAR(selected.weights[id], 1 / (3 * chance), 1e-6);
  }
}

TEST(Sampling, IsSwitchedOnWhereItIsWorthSoMuchMore) {
  const std::vector<float> scores = {1, 2, 3, 10};
  double squares = 0, distance = 0;
  for (const float score : scores) {
    squares += std::pow(score / 16.0, 2);
    distance += std::pow(score / 16.0 - 0.25, 2);
  }
  const double gain = 1 / std::sqrt(1 - distance / squares);
  const auto is_on = [&](double threshold) {
    return !Choice{"sampling", scores, {.threshold = threshold}}.of_one().weights.empty();
  };
  EXPECT_TRUE(is_on(gain - 1e-6));
  EXPECT_FALSE(is_on(gain + 1e-6));
}

TEST(Sampling, DrawsAsOftenAsImportanceSays) {
  const std::vector<float> scores = {0, 1, 3, kUnknown};
  std::vector<int> counts(4);
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    const Choice choice{"sampling", scores, {.seed = seed, .threshold = 0}};
    for (const std::uint64_t id : visits(choice.of_one())) ++counts[id];
  }
  EXPECT_EQ(counts[0], 0);
  EXPECT_EQ(counts[3], 4000);  // unknown: once, for sure
  EXPECT_NEAR(counts[1], 3000, 150);
  EXPECT_NEAR(counts[2], 9000, 150);
}

// Elsewhere an example that is drawn twice counts twice in sums over an epoch.
TEST(Sampling, ObservesRepeatedVisitsOnce) {
  const Selected selected = Choice{"sampling", {1, 1, 8}, {.budget = 4, .threshold = 0}}.of_one();
  const StepPlan plan(selected.visits, 5, Uneven::kWeight);
  std::size_t rows = 0, observed = 0;
  for (std::uint32_t step = 0; step < plan.steps(); ++step) {
    rows += plan.batch_of(WorkerId{0}, step).size();
    observed += plan.observed_of(WorkerId{0}, step);
  }
  EXPECT_EQ(rows, 12u);
  EXPECT_EQ(observed, 3 - count_visits(selected, 3).hidden);
}

// Elsewhere drop_last left the same examples out for ever.
TEST(Selections, LoseNoVisitWhenPartsAreUneven) {
  const std::vector<float> scores = exponential_scores(103, 5);
  const Partition partition = deal_in_stripes(scores, {.workers = 4});
  const Selected selected = Choice{"infobatch", scores}.of(partition);
  const StepPlan plan(selected.visits, 8, Uneven::kWeight);
  std::uint64_t rows = 0;
  for (std::uint32_t step = 0; step < plan.steps(); ++step) rows += plan.examples_in(step);
  EXPECT_EQ(rows, count_visits(selected, 103).visits);
}

TEST(Curriculum, GrowsFromItsStartToEverything) {
  std::vector<float> scores(100);
  std::iota(scores.begin(), scores.end(), 0.0f);
  const auto count = [&](std::uint32_t epoch, CurriculumGrowth growth) {
    return visits(Choice{"curriculum",
                         scores,
                         {.epoch = epoch, .start = 0.5, .ramp = 10, .growth = growth}}
                      .of_one())
        .size();
  };
  EXPECT_EQ(count(0, CurriculumGrowth::kLinear), 50u);
  EXPECT_EQ(count(4, CurriculumGrowth::kLinear), 70u);
  EXPECT_EQ(count(10, CurriculumGrowth::kLinear), 100u);
  EXPECT_NEAR(static_cast<double>(count(4, CurriculumGrowth::kRoot)), 74.2, 1);
  const Ids easiest = visits(Choice{"curriculum", scores, {.ramp = 10}}.of_one());
  EXPECT_EQ(easiest.back(), 49u);
}

TEST(WeightsSelection, GivesImportantExamplesMoreAndTheMean1) {
  const Selected selected = Choice{"weights", {0, 1, 3, kUnknown}, {.epsilon = 0}}.of_one();
  EXPECT_EQ(visits(selected).size(), 4u);
  EXPECT_EQ(selected.weights, (std::vector<float>{0, 0.75f, 2.25f, 1}));
}

/// Six epochs with half of the examples gone after two. Returns what moved in the later ones.
std::vector<ExampleId> moves_after_pruning(PlacementSpec spec, Ownership& ownership) {
  std::vector<ExampleId> moved;
  const std::vector<float> scores = exponential_scores(40, 3);
  const auto give = [&] { return scores; };
  for (std::uint32_t epoch = 0; epoch < *spec.epochs; ++epoch) {
    const auto change = ownership.prepare_epoch(
        epoch,
        {.close_window = give, .notion = give, .training_loss = give, .inference_loss = give});
    for (const Move& move : change ? change->plan.moves : std::vector<Move>()) {
      if (epoch > 2) moved.push_back(move.example);
    }
    ownership.end_epoch(ownership.select(epoch, {.notion = give}));
  }
  return moved;
}

void expect_only_the_remaining_move(PlacementSpec spec) {
  spec.workers = 2;
  spec.epochs = 6;
  spec.selection = find_entry(kSelections, "selection", "prune");
  spec.selecting = {.share = 0.5, .after = 2};
  std::vector<std::uint32_t> labels(40);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::uint32_t>(i % 3);
  Ownership ownership(spec, {.examples = 40, .labels = labels});
  const std::vector<ExampleId> moved = moves_after_pruning(spec, ownership);
  EXPECT_EQ(ownership.gone().size(), 20u);
  for (const ExampleId id : moved) {
    EXPECT_FALSE(std::ranges::binary_search(ownership.gone(), id)) << index(id);
  }
  const auto visited = ownership.select(5, {.notion = [] { return exponential_scores(40, 3); }});
  EXPECT_EQ(visited.visits.of(WorkerId{0}).size(), 10u);
}

TEST(Prune, LeavesWhatIsGoneWhereItIs) {
  for (const HeuristicEntry& heuristic : kHeuristics) {
    for (const bool sticky : {false, true}) {
      SCOPED_TRACE(heuristic.name);
      expect_only_the_remaining_move({.warmup = 1, .heuristic = heuristic, .sticky = sticky});
    }
  }
  for (const ExchangeEntry& exchange : kExchanges) {
    SCOPED_TRACE(exchange.name);
    expect_only_the_remaining_move(
        {.interval = 0, .exchange = AnyExchange(exchange), .fraction = 0.3});
  }
}

TEST(Prune, NeverBringsBackWhatItLeftOutThoughPartsChange) {
  PlacementSpec spec{.workers = 2, .epochs = 6, .interval = 1, .heuristic = kHeuristics[0]};
  spec.selection = find_entry(kSelections, "selection", "prune");
  spec.selecting = {.share = 0.5, .after = 2};
  Ownership ownership(spec, {.examples = 40});
  std::vector<float> scores = exponential_scores(40, 3);
  std::vector<ExampleId> left_out;
  for (std::uint32_t epoch = 0; epoch < 6; ++epoch) {
    ownership.prepare_epoch(epoch, {.close_window = [] { return std::vector<float>(40); }});
    const Selected selected = ownership.select(epoch, {.notion = [&] { return scores; }});
    EXPECT_EQ(count_visits(selected, 40).visits, epoch < 2 ? 40u : 20u);
    if (epoch == 2) left_out = selected.gone;
    for (const ExampleId id : left_out) {
      for (std::uint32_t worker = 0; worker < 2; ++worker) {
        EXPECT_EQ(std::ranges::count(visits(selected, worker), index(id)), 0);
      }
    }
    ownership.end_epoch(selected);
    for (float& score : scores) score = -score;  // what was easy is hard now
  }
  EXPECT_EQ(ownership.gone(), left_out);
  EXPECT_EQ(left_out.size(), 20u);
}

TEST(Prune, LeavesOutTheHardestIfAsked) {
  const Choice choice{"prune", {1, 5, 2, 4}, {.share = 0.5, .prune = PruneSide::kHardest}};
  EXPECT_EQ(visits(choice.of_one()), (Ids{0, 2}));
}

// 128 workers with 390 examples each, and the easiest 40 % of all go.
TEST(Selections, LetWorkersFinishTogetherUnderStripesAndNotWithRandomParts) {
  constexpr std::uint32_t kWorkers = 128, kMany = kWorkers * 390;
  const std::vector<float> scores = exponential_scores(kMany, 11);
  const Choice choice{"prune", scores, {.share = 0.4, .scope = SelectionScope::kAll}};
  const auto imbalance = [&](const Partition& partition) {
    const VisitCounts counts = count_visits(choice.of(partition), kMany);
    EXPECT_EQ(counts.hidden, kMany * 4 / 10);
    return counts.max_over_mean;
  };
  EXPECT_LE(imbalance(deal_in_stripes(scores, {.workers = kWorkers})), 1.005);
  EXPECT_NEAR(imbalance(shuffle_evenly(scores, {.workers = kWorkers, .seed = 1})), 1.11, 0.03);
}

TEST(Selections, RefuseWhatAFunctionOfYourOwnGotWrong) {
  const Partition partition({WorkerId{0}, WorkerId{1}}, 2);
  const Parts parts = partition.parts();
  const auto message = [&](std::vector<std::vector<ExampleId>> lists, std::vector<float> weights) {
    const AnySelection own{
        {"mine", "", [&](const SelectionInput&, const SelectionSpec&) -> Selected {
           return {.visits = parts_of(lists), .weights = weights};
         }}};
    return testing::message_of<ConfigError>(
        [&] { select_visits(own, {.parts = parts, .examples = 2}, {}); });
  };
  EXPECT_EQ(message({{ExampleId{1}}, {}}, {}),
            "selection 'mine': worker 0 is to visit example 1, which it does not have");
  EXPECT_EQ(message({{ExampleId{0}}}, {}), "selection 'mine': visits of 1 workers; there are 2");
  EXPECT_EQ(message({{}, {}}, {1}), "selection 'mine': 1 weights for 2 examples");
  EXPECT_EQ(message({{}, {}}, {1, -1}),
            "selection 'mine': example 1 has weight -1; allowed: 0 or more");
}

}  // namespace
}  // namespace impart::placement

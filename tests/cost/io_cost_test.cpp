#include "impart/cost/io_cost.h"

#include <cmath>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/cost/io_strategies.h"
#include "impart/cost/move_simulation.h"
#include "impart/store/flow.h"
#include "impart/store/shelf_journal.h"

namespace impart::cost {
namespace {

constexpr std::uint64_t kExamples = 2000;
constexpr std::uint32_t kWorkers = 4;
constexpr std::uint32_t kEpochs = 21;
constexpr double kPayload = 100;

placement::PlacementSpec base(std::uint32_t workers = kWorkers) {
  return {.seed = 7, .workers = workers, .epochs = kEpochs, .warmup = 3, .interval = 3};
}

placement::PlacementSpec strategy(const std::string& name,
                                  const placement::PlacementSpec& decisions = base()) {
  const std::vector<std::string> names = {name};
  return make_io_strategies(names, {.base = decisions}).front().decisions;
}

IoSpec spec() {
  return {.examples = kExamples, .payload_bytes = kPayload};
}

StrategyCost cost_of(const std::string& name) {
  return predict_io(strategy(name), spec());
}

TEST(ExpectedMoves, AreTheFormulasOfEachStrategy) {
  const double changes = kEpochs - 1;
  const double given = 0.1 * kExamples / kWorkers;
  EXPECT_DOUBLE_EQ(*expected_moves(strategy("vanilla"), kExamples), changes * kExamples * 0.75);
  EXPECT_DOUBLE_EQ(*expected_moves(strategy("local"), kExamples), 0);
  EXPECT_DOUBLE_EQ(*expected_moves(strategy("partial@0.1"), kExamples),
                   changes * kWorkers * given * 0.75);
  EXPECT_DOUBLE_EQ(*expected_moves(strategy("is-pair@0.1"), kExamples), changes * kWorkers * given);
  EXPECT_FALSE(expected_moves(strategy("stripes@5"), kExamples));
  EXPECT_FALSE(expected_moves(strategy("balance-pair@0.1"), kExamples));
}

TEST(ExpectedMoves, KnowOddNumbersOfWorkersAndUnevenParts) {
  // Five workers: the middle one sits out. 13 examples: parts of 3, 3, 3, 2, 2 agree on 35/13.
  EXPECT_DOUBLE_EQ(*expected_moves(strategy("ilag-pair@0.1", base(5)), 1000), 20.0 * 4 * 20);
  placement::PlacementSpec twice = strategy("vanilla", base(5));
  twice.epochs = 2;
  EXPECT_DOUBLE_EQ(*expected_moves(twice, 13), 13 - 35.0 / 13);
}

/// These decisions from a start by name.
placement::PlacementSpec starting(placement::PlacementSpec decisions, std::string_view start) {
  decisions.start = find_entry(placement::kStarts, "start", start);
  decisions.alpha = 0.1;
  return decisions;
}

TEST(IoCost, OfAnEvenStartIsThatOfARandomOne) {
  const auto sorted = starting(strategy("partial@0.1"), "by-class");
  EXPECT_DOUBLE_EQ(*expected_moves(sorted, kExamples),
                   *expected_moves(strategy("partial@0.1"), kExamples));
  const StrategyCost cost = predict_io(sorted, spec());
  EXPECT_NEAR(cost.run.examples_moved / *cost.expected_moved, 1, 0.1);
}

TEST(IoCost, OfUnevenPartsIsSimulatedAndBoundByTheLargest) {
  const auto drawn = starting(strategy("partial@0.5"), "dirichlet");
  EXPECT_FALSE(expected_moves(drawn, kExamples));
  const StrategyCost cost = predict_io(drawn, spec());
  EXPECT_GT(cost.run.examples_moved, 0);
  EXPECT_GT(cost.peak_stored, kExamples / kWorkers * 3 / 2);
  EXPECT_LE(cost.peak_stored, cost.peak_bound);
}

TEST(IoCost, OfAFileIsNotForeseen) {
  EXPECT_THROW(predict_io(starting(strategy("local"), "file"), spec()), ConfigError);
}

static_assert(kWireBytesPerMove == store::kFrameBytes);
static_assert(kJournalBytesPerChange == store::ShelfJournal::kRecordBytes);

TEST(PredictIo, AgreesWithTheFormulasWithinNoise) {
  for (const std::uint32_t workers : {1u, 2u, 5u, 8u}) {
    for (const std::string name : {"vanilla", "local", "partial@0.1", "partial@0.3", "is@0.1",
                                   "is-pair@0.25", "ilag-pair@0.1"}) {
      const placement::PlacementSpec decisions = strategy(name, base(workers));
      const StrategyCost cost = predict_io(decisions, spec());
      ASSERT_TRUE(cost.expected_moved);
      // Binomial: the variance of a count is at most its mean.
      const double noise = 5 * std::sqrt(*cost.expected_moved) + 1e-6;
      EXPECT_NEAR(cost.run.examples_moved, *cost.expected_moved, noise) << name << ' ' << workers;
    }
  }
}

TEST(PredictIo, PairStrategiesHaveOneFlowPerWorkerAndDirection) {
  EXPECT_DOUBLE_EQ(cost_of("is-pair@0.1").later.flows, kWorkers);
  EXPECT_DOUBLE_EQ(cost_of("vanilla").later.flows, kWorkers * (kWorkers - 1));
}

TEST(PredictIo, CountsTheImportancePassOfInferenceLossesOnly) {
  EXPECT_DOUBLE_EQ(cost_of("is@0.1").run.importance_pass, (kEpochs - 1.0) * kExamples);
  EXPECT_DOUBLE_EQ(cost_of("is-pair@0.1").later.importance_pass, kExamples);
  EXPECT_DOUBLE_EQ(cost_of("ilag-pair@0.1").run.importance_pass, 0);
  EXPECT_DOUBLE_EQ(cost_of("partial@0.1").run.importance_pass, 0);
}

TEST(PredictIo, CountsWhatASelectionVisitsHidesAndReads) {
  placement::PlacementSpec decisions = strategy("local", base(kWorkers));
  decisions.selection = find_entry(placement::kSelections, "selection", "random");
  decisions.selecting.share = 0.25;
  const double visits = 0.75 * kEpochs * kExamples;
  const StrategyCost random = predict_io(decisions, spec());
  EXPECT_NEAR(random.run.visits, visits, 0.01 * visits);
  EXPECT_NEAR(random.run.visits_hidden, visits / 3, 0.01 * visits);
  EXPECT_NEAR(random.run.replicated_source_bytes, visits * kPayload, 0.01 * visits * kPayload);
  EXPECT_EQ(random.run.visits_refreshed, 0);

  decisions.selection = find_entry(placement::kSelections, "selection", "kakurenbo");
  const StrategyCost refreshing = predict_io(decisions, spec());
  EXPECT_GT(refreshing.run.visits_hidden, 0);
  EXPECT_EQ(refreshing.run.visits_refreshed, refreshing.run.visits_hidden);
  EXPECT_NEAR(refreshing.run.replicated_source_bytes, 1.0 * kEpochs * kExamples * kPayload,
              1e-6 * visits * kPayload);
}

TEST(PredictIo, BytesFollowFromTheMoves) {
  const StrategyCost cost = cost_of("is-pair@0.1");
  const double all = kExamples * kPayload;
  const double moved = 0.1 * kExamples;
  EXPECT_DOUBLE_EQ(cost.later.network_bytes, moved * (kPayload + 8));
  EXPECT_DOUBLE_EQ(cost.later.replicated_source_bytes, 2 * all);
  EXPECT_DOUBLE_EQ(cost.later.local_read_bytes, 2 * all + moved * kPayload);
  EXPECT_DOUBLE_EQ(cost.later.local_written_bytes, moved * (kPayload + 96));
  EXPECT_DOUBLE_EQ(cost.later.partitioned_source_bytes, 0);
  EXPECT_DOUBLE_EQ(cost.first.partitioned_source_bytes, all);
  EXPECT_DOUBLE_EQ(cost.first.local_written_bytes, kExamples * (kPayload + 48));
  EXPECT_DOUBLE_EQ(cost.first.network_bytes, 0);
  EXPECT_DOUBLE_EQ(cost.run.network_bytes, (kEpochs - 1) * moved * (kPayload + 8));
}

TEST(PredictIo, NoStrategyExceedsItsBoundOfStorage) {
  for (const std::string& name : usual_io_strategies({})) {
    const std::vector<std::string> names = {name};
    for (const IoStrategy& row : make_io_strategies(names, {.base = base(3)})) {
      IoSpec odd = spec();
      odd.examples = 1001;
      const StrategyCost cost = predict_io(row.decisions, odd);
      EXPECT_LE(cost.peak_stored, cost.peak_bound) << row.name;
      EXPECT_GE(cost.peak_stored, 334u) << row.name;
    }
  }
  EXPECT_EQ(cost_of("is-pair@0.1").peak_stored, 550u);
  EXPECT_EQ(cost_of("is-pair@0.1").peak_bound, 550u);
  EXPECT_EQ(cost_of("local").peak_bound, 500u);
  EXPECT_EQ(cost_of("vanilla").peak_bound, 1000u);
}

TEST(PredictIo, StickyMovesNothingOnceRanksStandStill) {
  placement::PlacementSpec decisions = strategy("sticky-stripes@2");
  decisions.warmup = 1;
  IoSpec still = spec();
  still.drift = 0;
  const StrategyCost cost = predict_io(decisions, still);
  // Only the first repartitioning, away from the random partition, moves anything: about N/e.
  EXPECT_NEAR(cost.run.examples_moved, kExamples / std::exp(1.0), 0.1 * kExamples);
}

TEST(PredictIo, StickyMovesLessAndLessDriftMovesLess) {
  const auto moved = [](const std::string& name, double drift) {
    IoSpec drifting = spec();
    drifting.drift = drift;
    return predict_io(strategy(name), drifting).run.examples_moved;
  };
  EXPECT_LT(moved("sticky-stripes@2", 0.3), 0.7 * moved("stripes@2", 0.3));
  EXPECT_LT(moved("sticky-blocks@2", 0.1), 0.8 * moved("sticky-blocks@2", 1));
}

TEST(PredictIo, AFewEventsStandForManyAndASmallDataSetForALargeOne) {
  placement::PlacementSpec decisions = strategy("partial@0.1");
  decisions.epochs = 1000;
  IoSpec large = spec();
  large.examples = 1'000'000;
  large.work = 1'000'000;
  const StrategyCost cost = predict_io(decisions, large);
  EXPECT_EQ(cost.events, 1000u);
  EXPECT_LT(cost.events_simulated, 20u);
  EXPECT_LT(cost.examples_simulated, 1'000'000u);
  EXPECT_NEAR(cost.run.examples_moved / *cost.expected_moved, 1, 0.02);
  EXPECT_LE(cost.peak_stored, cost.peak_bound);
}

TEST(PredictIo, AnEmptyDataSetCostsNothing) {
  IoSpec nothing = spec();
  nothing.examples = 0;
  const StrategyCost cost = predict_io(strategy("vanilla"), nothing);
  for (const IoQuantity& quantity : kIoQuantities) {
    EXPECT_EQ(cost.run.*quantity.value, 0) << quantity.name;
  }
}

TEST(PredictIo, RefusesWhatCannotBe) {
  EXPECT_THROW(predict_io(strategy("vanilla", base(0)), spec()), ConfigError);
  IoSpec too_many = spec();
  too_many.processes = kWorkers + 1;
  EXPECT_THROW(predict_io(strategy("local"), too_many), ConfigError);
  IoSpec negative = spec();
  negative.payload_bytes = -1;
  EXPECT_THROW(predict_io(strategy("local"), negative), ConfigError);
}

TEST(PredictIo, ACacheSparesReadsOfWhatStays) {
  IoSpec cached = spec();
  cached.cache_bytes = static_cast<std::uint64_t>(kExamples / kWorkers * kPayload);
  const StrategyCost local = predict_io(strategy("local"), cached);
  const StrategyCost vanilla = predict_io(strategy("vanilla"), cached);
  EXPECT_DOUBLE_EQ(local.first.replicated_source_bytes, kExamples * kPayload);
  EXPECT_DOUBLE_EQ(local.later.replicated_source_bytes, 0);
  EXPECT_GT(vanilla.later.replicated_source_bytes, 0.5 * kExamples * kPayload);
  EXPECT_LT(vanilla.later.replicated_source_bytes, 0.9 * kExamples * kPayload);
}

config::RunConfig config_of(std::uint32_t workers, const config::SyncRule& sync) {
  config::RunConfig config;
  config.epochs = 10;
  config.workers.count = workers;
  config.workers.batch = 10;
  config.workers.sync = sync;
  return config;
}

double bytes_of(const config::RunConfig& config) {
  return weight_bytes_per_epoch({.config = config, .examples = kExamples, .parameters = 1000});
}

TEST(WeightBytes, AreThoseOfARing) {
  // 2000 examples on 4 workers in batches of 10: 50 steps; each worker sends 2·4·P·3/4 per sum.
  EXPECT_DOUBLE_EQ(bytes_of(config_of(4, {})), 50 * 4 * 6000.0);
  EXPECT_DOUBLE_EQ(bytes_of(config_of(1, {})), 0);
}

TEST(WeightBytes, AreFewerWhereWorkersTrainApart) {
  using Kind = config::SyncRule::Kind;
  EXPECT_DOUBLE_EQ(bytes_of(config_of(4, {.kind = Kind::kEpoch})), 4 * 6000.0);
  // 20, 20 and the last 10 steps.
  config::RunConfig apart = config_of(4, {.kind = Kind::kEverySteps, .steps = 20});
  EXPECT_DOUBLE_EQ(bytes_of(apart), 3 * 4 * 6000.0);
  apart.workers.sync_start = 5;  // half of the epochs average gradients
  EXPECT_DOUBLE_EQ(bytes_of(apart), (50 + 3) / 2.0 * 4 * 6000.0);
}

}  // namespace
}  // namespace impart::cost

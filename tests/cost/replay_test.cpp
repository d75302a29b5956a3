#include "impart/cost/replay.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/cost/io_strategies.h"
#include "impart/placement/placement.h"
#include "tests/support/temporary_folder.h"

namespace impart::cost {
namespace {

using testing::message_of;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr std::uint64_t kExamples = 600;
constexpr std::uint32_t kWorkers = 4, kEpochs = 12;

placement::PlacementSpec decisions_of(const std::string& name) {
  placement::PlacementSpec base{
      .seed = 2,
      .workers = kWorkers,
      .epochs = kEpochs,
      .warmup = 2,
      .interval = 3,
      .notion = find_entry(importance::kNotions, "notion", "loss-variance"),
      .ignore = 1,
      .history = true};
  const std::vector<std::string> names = {name};
  return make_io_strategies(names, {.base = base}).front().decisions;
}

placement::PlacementSpec selecting(placement::PlacementSpec decisions, std::string_view name) {
  decisions.selection = find_entry(placement::kSelections, "selection", name);
  return decisions;
}

/// What a run with these decisions finds, in which a loss falls with every visit, and what it does.
struct TrainedRun {
  RecordedLosses losses = {.folder = "run", .examples = kExamples, .workers = kWorkers};
  std::vector<std::uint64_t> moved = {}, visits = {};
};

TrainedRun run_of(const placement::PlacementSpec& decisions) {
  TrainedRun run;
  placement::Placement placement(decisions, {.examples = kExamples});
  std::vector<std::uint32_t> seen(kExamples);
  for (std::uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
    const auto change = placement.prepare_epoch(epoch, {});
    if (change) run.moved.push_back(change->moved);
    const placement::Selected selected = placement.select(epoch);
    run.visits.push_back(placement::count_visits(selected, kExamples).visits);
    RandomStream random({.seed = 5, .purpose = Purpose("replay-test"), .epoch = epoch});
    std::vector<bool> observed(kExamples);
    for (std::uint32_t w = 0; w < kWorkers; ++w) {
      for (const ExampleId id : selected.visits.of(WorkerId{w})) {
        if (observed[index(id)]) continue;
        observed[index(id)] = true;
        const double level = 1 + static_cast<double>(index(id) % 17);
        const auto loss = static_cast<float>((level + random.uniform()) / ++seen[index(id)]);
        const std::vector<ExampleId> ids = {id};
        const std::vector<float> found = {loss};
        placement.table().observe(epoch, ids, {.loss = found});
      }
    }
    placement.end_epoch(selected);
  }
  run.losses.by_epoch = placement.table().losses_by_epoch();
  return run;
}

Replay replay(const placement::PlacementSpec& decisions, const RecordedLosses& losses) {
  return replay_run(decisions, {.losses = &losses});
}

std::vector<std::uint64_t> moved_in(const Replay& replay) {
  std::vector<std::uint64_t> moved;
  for (const EventMoves& moves : replay.moves.events) {
    moved.push_back(static_cast<std::uint64_t>(moves.moved));
  }
  return moved;
}

std::vector<std::uint64_t> visits_in(const Replay& replay) {
  std::vector<std::uint64_t> visits;
  for (const VisitShares& shares : replay.visits) {
    visits.push_back(static_cast<std::uint64_t>(std::llround(shares.visits * kExamples)));
  }
  return visits;
}

TEST(Replay, DecidesWhatTheRunDecided) {
  for (const char* strategy :
       {"config", "vanilla", "sticky-stripes@3", "ilag-pair@0.1", "balance-pair@0.1"}) {
    for (const char* selection : {"all", "infobatch", "sampling", "prune"}) {
      placement::PlacementSpec decisions = selecting(decisions_of(strategy), selection);
      decisions.selecting.after = 4;
      const TrainedRun run = run_of(decisions);
      const Replay again = replay(decisions, run.losses);
      EXPECT_EQ(moved_in(again), run.moved) << strategy << ", " << selection;
      EXPECT_EQ(visits_in(again), run.visits) << strategy << ", " << selection;
    }
  }
}

TEST(Replay, DoesNotNeedWhatTheRunOnlyMeasured) {
  placement::PlacementSpec decisions = selecting(decisions_of("local"), "infobatch");
  const TrainedRun run = run_of(decisions);
  decisions.notion = find_entry(importance::kNotions, "notion", "forgetting");
  decisions.record = {find_entry(importance::kNotions, "notion", "el2n")};
  EXPECT_EQ(visits_in(replay(decisions, run.losses)), run.visits);
}

TEST(Replay, TakesTheLastLossOfWhatTheRunDidNotVisit) {
  const RecordedLosses losses{
      .folder = "run", .examples = 4, .by_epoch = {{1, 2, 8, 9}, {kNaN, 2, 8, 9}, {9, 9, 9, 9}}};
  placement::PlacementSpec decisions = decisions_of("local");
  decisions.workers = 1;
  decisions.epochs = 3;
  decisions.ignore = 0;
  decisions = selecting(decisions, "infobatch");
  // Of two below the mean one is left out, also in the last epoch.
  const Replay all = replay(decisions, losses);
  EXPECT_EQ(all.visits[0].visits, 1);
  EXPECT_EQ(all.visits[1].visits, 0.75);
  EXPECT_EQ(all.visits[2].visits, 0.75);
}

TEST(Replay, CachesAnswerWhatTheyKeepOfWhatIsVisited) {
  const placement::PlacementSpec decisions = selecting(decisions_of("local"), "infobatch");
  const TrainedRun run = run_of(decisions);
  for (const char* policy : {"clock", "pin", "importance"}) {
    const Replay again = replay_run(
        decisions, {.losses = &run.losses,
                    .caches = {.policy = &find_entry(store::kCachePolicies, "policy", policy),
                               .memory = kExamples}});
    EXPECT_EQ(again.caches.front().memory, 0) << policy;
    EXPECT_EQ(again.caches.back().memory, 1) << policy;
  }
}

TEST(Replay, OfAnExchangeByTheModelsLossesReadsAllOnce) {
  const TrainedRun run = run_of(decisions_of("local"));
  const Replay again = replay_run(
      decisions_of("is@0.1"),
      {.losses = &run.losses,
       .caches = {.policy = &find_entry(store::kCachePolicies, "policy", "pin"), .memory = 60}});
  EXPECT_TRUE(again.moves.events.back().importance_pass);
  EXPECT_GT(again.moves.events.back().moved, 0);
  EXPECT_NEAR(again.caches.back().memory, 0.1, 1e-9);
}

TEST(Replay, RefusesWhatLossesDoNotSay) {
  const TrainedRun run = run_of(decisions_of("local"));
  const auto complaint = [&](const placement::PlacementSpec& decisions) {
    return message_of<ConfigError>([&] { replay(decisions, run.losses); });
  };
  EXPECT_NE(complaint(selecting(decisions_of("local"), "kakurenbo")).find("whether visits were"),
            std::string::npos);
  placement::PlacementSpec decisions = decisions_of("stripes@3");
  decisions.notion = find_entry(importance::kNotions, "notion", "forgetting");
  EXPECT_NE(complaint(decisions).find("take loss-average"), std::string::npos);
  decisions = decisions_of("local");
  decisions.workers = 5;
  EXPECT_NE(complaint(decisions).find("there are 5 workers, and run had 4"), std::string::npos);
  decisions = decisions_of("local");
  decisions.epochs = 13;
  EXPECT_NE(complaint(decisions).find("give --epochs 12"), std::string::npos);
}

}  // namespace
}  // namespace impart::cost

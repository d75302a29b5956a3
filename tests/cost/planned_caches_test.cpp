#include "impart/cost/planned_caches.h"

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/cost/io_strategies.h"

namespace impart::cost {
namespace {

constexpr std::uint64_t kExamples = 4000;
constexpr std::uint32_t kWorkers = 4;

placement::PlacementSpec strategy(const std::string& name) {
  const placement::PlacementSpec base{.seed = 2, .workers = kWorkers, .epochs = 12};
  const std::vector<std::string> names = {name};
  return make_io_strategies(names, {.base = base}).front().decisions;
}

PlannedCachesSpec caches(double share, std::uint32_t processes = kWorkers) {
  return {.placement = {.examples = kExamples},
          .policy = &find_entry(store::kCachePolicies, "cache policy", "pin"),
          .memory = static_cast<std::uint64_t>(share * kExamples),
          .processes = processes,
          .epochs = 12};
}

CacheShares mean_after_first(const std::vector<CacheShares>& epochs) {
  CacheShares mean;
  for (std::size_t epoch = 1; epoch < epochs.size(); ++epoch) {
    const auto count = static_cast<double>(epochs.size() - 1);
    mean.memory += epochs[epoch].memory / count;
    mean.disk += epochs[epoch].disk / count;
    mean.peers += epochs[epoch].peers / count;
  }
  return mean;
}

TEST(PlannedCaches, PinnedHitsAreTheCachesShareWhateverMoves) {
  for (const char* name : {"vanilla", "local", "partial@0.1"}) {
    EXPECT_NEAR(mean_after_first(simulate_planned_caches(strategy(name), caches(0.2, 1))).memory,
                0.2, 1e-9)
        << name;
  }
}

TEST(PlannedCaches, FixedPartsHitFourTimesAsOftenAsShuffledOnes) {
  EXPECT_NEAR(mean_after_first(simulate_planned_caches(strategy("local"), caches(0.125))).memory,
              0.5, 1e-9);
  EXPECT_NEAR(mean_after_first(simulate_planned_caches(strategy("vanilla"), caches(0.125))).memory,
              0.125, 0.01);
}

TEST(PlannedCaches, CooperationMakesUpForShuffling) {
  PlannedCachesSpec spec = caches(0.125);
  spec.cooperative = true;
  const CacheShares shares = mean_after_first(simulate_planned_caches(strategy("vanilla"), spec));
  EXPECT_NEAR(shares.memory + shares.peers, 0.5, 1e-9);
  EXPECT_NEAR(shares.peers, 0.375, 0.01);
}

TEST(PlannedCaches, AnExchangeTakesWhatItMovesFromTheOldOwnersCache) {
  PlannedCachesSpec spec = caches(0.25);
  spec.moves_from_peers = true;
  const CacheShares with = mean_after_first(simulate_planned_caches(strategy("partial@0.1"), spec));
  // Caches that hold all: nine of ten stay, and of the tenth three in four change their process.
  EXPECT_NEAR(with.peers, 0.075, 0.005);
  EXPECT_NEAR(with.memory, 0.925, 0.005);
  spec.moves_from_peers = false;
  const auto without = mean_after_first(simulate_planned_caches(strategy("partial@0.1"), spec));
  EXPECT_EQ(without.peers, 0);
  EXPECT_NEAR(without.memory, 0.925, 0.005);
}

/// Losses of which as many are below their mean as above.
TEST(PlannedCaches, WhatASelectionVisitsMostIsWorthMost) {
  placement::PlacementSpec decisions = strategy("local");
  decisions.workers = 1;
  decisions.selection = find_entry(placement::kSelections, "selection", "infobatch");
  decisions.selecting.share = 0.5;
  PlannedCachesSpec spec = caches(0.2, 1);
  spec.placement.drift = 0;
  const double pinned = mean_after_first(simulate_planned_caches(decisions, spec)).memory;
  spec.policy = &find_entry(store::kCachePolicies, "cache policy", "importance");
  const auto epochs = simulate_planned_caches(decisions, spec);
  // Log-normal losses: 69 % are below the mean, so that 65 % are visited.
  EXPECT_NEAR(epochs.back().memory, 0.2 / 0.655, 0.03);
  EXPECT_NEAR(pinned, 0.2, 0.02);
}

TEST(PlannedCaches, RefuseProcessesWithoutWorkers) {
  EXPECT_THROW(simulate_planned_caches(strategy("local"), caches(0.1, kWorkers + 1)), ConfigError);
}

}  // namespace
}  // namespace impart::cost

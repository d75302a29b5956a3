#include "impart/store/cache/cache_plan.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "impart/core/random.h"
#include "impart/placement/epoch_order.h"
#include "tests/store/generated_source.h"

namespace impart::store {
namespace {

using testing::random_partition;

constexpr std::uint64_t kPlanned = 2'000;
constexpr std::uint32_t kPlanWorkers = 4;
constexpr std::uint64_t kPlanPayload = 10;

/// The order of an epoch: every worker's part, or what is left of it, shuffled.
placement::Parts shuffled(const placement::Partition& partition, std::uint32_t epoch,
                          const std::vector<bool>& hidden = {}) {
  std::vector<std::vector<ExampleId>> lists(partition.workers());
  for (std::uint64_t i = 0; i < partition.examples(); ++i) {
    if (hidden.empty() || !hidden[i]) {
      lists[index(partition.owner(ExampleId{i}))].push_back(ExampleId{i});
    }
  }
  RandomStream random({.seed = 9, .purpose = Purpose("cache-test"), .epoch = epoch});
  for (auto& list : lists) shuffle(std::span(list), random);
  return placement::parts_of(lists);
}

struct PlanRun {
  bool cooperative = false;
  std::uint32_t processes = kPlanWorkers;
  std::uint64_t bytes = 0;  ///< of each process
  bool new_parts = false;   ///< in every epoch
  bool moves_from_peers = true;
};

/// The counts of each epoch, added up over processes.
std::vector<CacheCounts> simulate_plan(const PlanRun& run, std::uint32_t epochs) {
  CachePlan plan({.examples = kPlanned,
                  .workers = kPlanWorkers,
                  .processes = run.processes,
                  .memory_bytes = run.bytes,
                  .cooperative = run.cooperative,
                  .sizes = [](ExampleId) { return kPlanPayload; }});
  std::vector<CacheCounts> all;
  for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
    const auto partition = random_partition(kPlanned, kPlanWorkers, run.new_parts ? epoch : 0);
    const placement::StepPlan steps(shuffled(partition, epoch), 32, placement::Uneven::kWeight);
    const EpochCaching caching =
        plan.begin_epoch({.steps = &steps, .partition = &partition, .keeps_parts = !run.new_parts},
                         run.moves_from_peers);
    CacheCounts& sum = all.emplace_back();
    for (std::uint32_t p = 0; p < run.processes; ++p) {
      const CacheCounts& counts = caching.processes[p].counts;
      sum.memory_hits += counts.memory_hits;
      sum.peer_hits += counts.peer_hits;
      sum.misses += counts.misses;
      sum.bytes_missed += counts.bytes_missed;
      EXPECT_LE(plan.bytes(p, CacheTier::kMemory), run.bytes);
    }
  }
  return all;
}

TEST(CachePlan, PinnedHitsAreTheCachesSizeInEveryEpoch) {
  for (const std::uint64_t share : {10, 20, 50}) {
    const std::uint64_t held = kPlanned * share / 100;
    const auto epochs =
        simulate_plan({.processes = 1, .bytes = held * kPlanPayload, .new_parts = true}, 4);
    EXPECT_EQ(epochs[0].memory_hits, 0u);
    for (std::size_t epoch = 1; epoch < epochs.size(); ++epoch) {
      EXPECT_EQ(epochs[epoch].memory_hits, held) << share;
      EXPECT_EQ(epochs[epoch].bytes_missed, (kPlanned - held) * kPlanPayload);
    }
  }
}

TEST(CachePlan, AnEighthInEachOfFourIsAHalfWithFixedPartsAndAnEighthWithout) {
  const std::uint64_t bytes = kPlanned / 8 * kPlanPayload;
  const auto fixed = simulate_plan({.bytes = bytes}, 3);
  EXPECT_EQ(fixed[2].memory_hits, kPlanned / 2);
  const auto mixed = simulate_plan({.bytes = bytes, .new_parts = true}, 12);
  double hits = 0;
  for (std::size_t epoch = 1; epoch < mixed.size(); ++epoch) {
    hits += static_cast<double>(mixed[epoch].memory_hits) / 11;
  }
  EXPECT_NEAR(hits / kPlanned, 0.125, 0.01);
}

TEST(CachePlan, CooperatingCachesAnswerHalfUnderGlobalShuffling) {
  const std::uint64_t bytes = kPlanned / 8 * kPlanPayload;
  const auto epochs = simulate_plan({.cooperative = true, .bytes = bytes, .new_parts = true}, 4);
  for (std::size_t epoch = 1; epoch < epochs.size(); ++epoch) {
    EXPECT_EQ(epochs[epoch].memory_hits + epochs[epoch].peer_hits, kPlanned / 2);
    EXPECT_EQ(epochs[epoch].misses, kPlanned / 2);
  }
}

TEST(CachePlan, KeepsWhatIsVisitedMostWhenWorthsDiffer) {
  // Half of the examples are always visited, of the others every second at random.
  CachePlan plan({.examples = kPlanned,
                  .memory_bytes = kPlanned / 5 * kPlanPayload,
                  .worth = worth_its_visits,
                  .sizes = [](ExampleId) { return kPlanPayload; }});
  std::vector<float> expected(kPlanned, 0.5f);
  for (std::size_t i = 0; i < kPlanned; i += 2) expected[i] = 1;
  const placement::Partition one(std::vector<WorkerId>(kPlanned), 1);
  double share = 0;
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
    RandomStream random({.seed = 4, .purpose = Purpose("cache-test"), .epoch = epoch});
    std::vector<bool> hidden(kPlanned);
    for (std::size_t i = 1; i < kPlanned; i += 2) hidden[i] = random.uniform() < 0.5;
    const placement::StepPlan steps(shuffled(one, epoch, hidden), 32, placement::Uneven::kWeight);
    const auto counts =
        plan.begin_epoch({.steps = &steps, .partition = &one, .expected_visits = expected}, false)
            .processes[0]
            .counts;
    share = static_cast<double>(counts.memory_hits) /
            static_cast<double>(counts.memory_hits + counts.misses);
  }
  EXPECT_NEAR(share, 0.267, 0.01);
}

TEST(CachePlan, WhatMakesRoomAnswersItsVisitBefore) {
  constexpr std::uint64_t kHeld = kPlanned / 5;
  constexpr std::uint32_t kAhead = 3;
  CachePlan plan({.examples = kPlanned,
                  .memory_bytes = kHeld * kPlanPayload,
                  .worth = worth_its_visits,
                  .sizes = [](ExampleId) { return kPlanPayload; },
                  .steps_ahead = kAhead});
  const placement::Partition one(std::vector<WorkerId>(kPlanned), 1);
  for (std::uint32_t epoch = 0; epoch < 6; ++epoch) {
    std::vector<float> expected(kPlanned, 1);  // others are worth most in every epoch
    for (std::size_t i = 0; i < kPlanned; ++i) expected[i] = (i + epoch) % 3 == 0 ? 2.0f : 1.0f;
    const placement::StepPlan steps(shuffled(one, epoch), 20, placement::Uneven::kWeight);
    std::vector<std::uint32_t> step_of(kPlanned);
    for (std::uint32_t step = 0; step < steps.steps(); ++step) {
      for (const ExampleId id : steps.batch_of(WorkerId{0}, step)) step_of[index(id)] = step;
    }
    const auto mine =
        plan.begin_epoch({.steps = &steps, .partition = &one, .expected_visits = expected}, false)
            .processes[0];
    EXPECT_EQ(mine.counts.memory_hits, epoch == 0 ? 0 : kHeld);
    EXPECT_TRUE(mine.drop.empty());
    ASSERT_EQ(mine.keep.size(), epoch == 0 ? kHeld : mine.drop_at.size());
    EXPECT_GT(mine.keep.size(), kHeld / 2);
    for (std::size_t i = 0; i < mine.drop_at.size(); ++i) {
      EXPECT_EQ(mine.drop_at[i].step, step_of[index(mine.drop_at[i].id)] + 1);
      EXPECT_GE(step_of[index(mine.keep[i])], mine.drop_at[i].step + kAhead);
    }
    EXPECT_LE(plan.bytes(0, CacheTier::kMemory), kHeld * kPlanPayload);
  }
}

TEST(CachePlan, WhatChangesItsOwnerComesFromTheOldOnesCacheOrTheSource) {
  for (const bool from_peers : {true, false}) {
    CachePlan plan({.examples = kPlanned,
                    .workers = kPlanWorkers,
                    .processes = kPlanWorkers,
                    .memory_bytes = kPlanned / 8 * kPlanPayload,
                    .sizes = [](ExampleId) { return kPlanPayload; }});
    const auto before = random_partition(kPlanned, kPlanWorkers, 0);
    const auto after = random_partition(kPlanned, kPlanWorkers, 1);
    std::uint64_t held_and_moved = 0;
    for (const auto* partition : {&before, &after, &after}) {
      const placement::StepPlan steps(shuffled(*partition, 0), 32, placement::Uneven::kWeight);
      const auto caching = plan.begin_epoch(
          {.steps = &steps, .partition = partition, .keeps_parts = true}, from_peers);
      if (partition == &before) {
        for (const auto& move : placement::diff(before, after).moves) {
          held_and_moved += plan.tier(index(move.from), move.example) == CacheTier::kMemory;
        }
        EXPECT_TRUE(caching.promises.empty());
        continue;
      }
      if (held_and_moved == 0) continue;
      EXPECT_EQ(caching.promises.size(), from_peers ? held_and_moved : 0);
      held_and_moved = 0;
      for (std::uint64_t i = 0; i < kPlanned; ++i) {
        for (std::uint32_t p = 0; p < kPlanWorkers; ++p) {
          const bool is_own = index(after.owner(ExampleId{i})) == p;
          EXPECT_TRUE(is_own || plan.tier(p, ExampleId{i}) == CacheTier::kNone);
        }
      }
    }
    for (std::uint32_t p = 0; p < kPlanWorkers; ++p) {
      EXPECT_EQ(plan.bytes(p, CacheTier::kMemory), kPlanned / 8 * kPlanPayload);
    }
  }
}

TEST(CachePlan, PromisesAnExampleOnceAndCountsItsVisits) {
  CachePlan plan({.examples = 4,
                  .workers = 2,
                  .processes = 2,
                  .memory_bytes = 100,
                  .cooperative = true,
                  .sizes = [](ExampleId) { return kPlanPayload; }});
  const placement::Partition first({WorkerId{0}, WorkerId{0}, WorkerId{1}, WorkerId{1}}, 2);
  const placement::Partition second({WorkerId{1}, WorkerId{0}, WorkerId{1}, WorkerId{0}}, 2);
  const auto steps_of = [](std::vector<std::vector<ExampleId>> lists) {
    return placement::StepPlan(placement::parts_of(lists), 1, placement::Uneven::kWeight);
  };
  const auto before = steps_of({{ExampleId{0}, ExampleId{1}}, {ExampleId{2}, ExampleId{3}}});
  plan.begin_epoch({.steps = &before, .partition = &first}, true);
  const auto after = steps_of({{ExampleId{3}, ExampleId{1}, ExampleId{3}}, {ExampleId{2}}});
  const auto caching = plan.begin_epoch({.steps = &after, .partition = &second}, true);
  ASSERT_EQ(caching.promises.size(), 1u);
  EXPECT_EQ(caching.promises[0],
            (CachePromise{.id = ExampleId{3}, .from = 1, .to = 0, .step = 0, .visits = 2}));
  EXPECT_EQ(caching.processes[0].counts.peer_hits, 2u);
  EXPECT_EQ(caching.processes[0].counts.bytes_peers, kPlanPayload + kFrameBytes);
}

}  // namespace
}  // namespace impart::store

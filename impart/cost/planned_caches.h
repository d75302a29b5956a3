#pragma once

#include <cstdint>
#include <vector>

#include "impart/cost/simulated_placement.h"
#include "impart/placement/placement_spec.h"
#include "impart/store/cache/policies.h"

namespace impart::cost {

/// Which shares of an epoch's reads caches answer.
struct CacheShares {
  double memory = 0, disk = 0, peers = 0;

  double all() const { return memory + disk + peers; }
};

struct PlannedCachesSpec {
  SimulatedPlacementSpec placement = {};
  const store::CachePolicyEntry* policy = nullptr;  ///< one that plans
  std::uint64_t memory = 0, disk = 0;               ///< examples that a process has room for
  std::uint32_t processes = 1;                      ///< at most as many as there are workers
  bool cooperative = false;
  bool moves_from_peers = false;
  std::uint32_t epochs = 0;  ///< how many of the run's are simulated, from the first on
};

/// What the caches of store::CachedStore answer in each epoch: the same plan, over the visits of a
/// simulated placement; forward passes for importance and over what a selection hid are reads, too.
/// Where many processes do not cooperate, the first stands for all, and moves are from the source.
std::vector<CacheShares> simulate_planned_caches(const placement::PlacementSpec& decisions,
                                                 const PlannedCachesSpec& spec);

}  // namespace impart::cost

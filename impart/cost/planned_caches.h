#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "impart/cost/simulated_placement.h"
#include "impart/placement/placement_spec.h"
#include "impart/store/cache/cache_plan.h"
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
  std::uint32_t steps_ahead = 0;  ///< see store::CachePlanSpec
  std::uint32_t epochs = 0;       ///< how many of the run's are simulated, from the first on
};

/// The caches of store::CachedStore without payloads: the same plan, and a count of who answers.
/// Where many processes do not cooperate, the first stands for all, and moves are from the source.
class PlannedCaches {
 public:
  /// For all examples of spec.placement. ConfigError if there are more processes than workers, or
  /// none.
  PlannedCaches(const PlannedCachesSpec& spec, std::uint32_t workers);

  /// Plans an epoch, and reads what its steps visit.
  void read(const store::EpochReads& reads);
  /// Reads outside of steps, which find what is kept in their own process.
  void pass(const placement::Parts& parts);
  /// Of the reads since the last call.
  CacheShares take_shares();

 private:
  store::CachePlanSpec plan_spec();
  bool counts(std::uint32_t process) const { return !only_ || *only_ == process; }

  PlannedCachesSpec spec_;
  std::uint32_t workers_;
  std::optional<std::uint32_t> only_;
  store::CachePlan plan_;
  CacheShares hits_;  ///< as counts
  double reads_ = 0;
};

/// What they answer in each epoch of a simulated placement; forward passes for importance and over
/// what a selection hid are reads, too.
std::vector<CacheShares> simulate_planned_caches(const placement::PlacementSpec& decisions,
                                                 const PlannedCachesSpec& spec);

}  // namespace impart::cost

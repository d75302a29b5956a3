#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "impart/core/progress.h"
#include "impart/cost/cluster/simulated_exchange.h"
#include "impart/cost/simulated_placement.h"

namespace impart::cost {

/// An exchange before an epoch of a run.
struct EpochExchange {
  std::uint32_t epoch = 0;  ///< from 0
  SimulatedExchange exchange = {};
  bool importance_pass = false;  ///< a forward pass over all examples comes before it
};

struct ClusterRunSpec {
  ClusterSpec cluster = {};
  SimulatedPlacementSpec placement = {};
  std::uint32_t exchanges = 1;  ///< that are simulated
};

/// The exchanges of a strategy: its real decisions over synthetic importance. The first
/// repartitioning by a heuristic is carried out, but not timed: it starts from a random partition,
/// and all later ones do not.
std::vector<EpochExchange> simulate_strategy(const placement::PlacementSpec& decisions,
                                             const ClusterRunSpec& spec,
                                             const Progress& progress = {});

/// The changes of owner that a run has recorded (partition.save: true), in the order of epochs.
struct RecordedPlan {
  std::uint32_t epoch = 0;
  placement::MovePlan plan;
};
struct RecordedPlans {
  std::uint32_t workers = 0;
  std::uint64_t examples = 0;
  std::vector<RecordedPlan> plans;
};
/// DataError if the run has not recorded any.
RecordedPlans read_recorded_plans(const std::string& folder);

}  // namespace impart::cost

#pragma once

#include <vector>

#include "impart/core/progress.h"
#include "impart/cost/move_simulation.h"
#include "impart/cost/planned_caches.h"
#include "impart/cost/recorded_losses.h"
#include "impart/cost/visit_simulation.h"
#include "impart/placement/placement_spec.h"
#include "impart/placement/step_plan.h"

namespace impart::cost {

/// Decisions that are made once more, over what a run has recorded.
struct ReplaySpec {
  const RecordedLosses* losses = nullptr;
  /// Whose placement and epochs are not looked at; without room for anything there are no caches.
  /// A policy that does not plan is simulated as simulate_cache() does.
  PlannedCachesSpec caches = {};
  std::uint32_t batch = 32;  ///< of a worker and step: in which order a process reads
  placement::Uneven uneven = placement::Uneven::kWeight;
};

/// What they come to, by epoch.
struct Replay {
  SimulatedMoves moves = {};
  std::vector<VisitShares> visits = {};
  std::vector<CacheShares> caches = {};
};

/// Every epoch as a run would decide it that found these losses: the notion sees what is visited,
/// and so do selections and exchanges. Decisions of the run itself are repeated exactly. Where
/// others visit an example that the run did not, its loss is the last one before; an importance
/// pass finds the last losses, too.
///
/// ConfigError if the run had other examples or workers, or fewer epochs, or if a decision looks at
/// more than losses.
Replay replay_run(const placement::PlacementSpec& decisions, const ReplaySpec& spec,
                  const Progress& progress = {});

}  // namespace impart::cost

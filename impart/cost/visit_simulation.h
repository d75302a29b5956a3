#pragma once

#include <vector>

#include "impart/cost/simulated_placement.h"
#include "impart/placement/placement_spec.h"

namespace impart::cost {

/// What a selection visits in an epoch, as shares of the examples.
struct VisitShares {
  double visits = 1;
  double hidden = 0;     ///< examples without a visit
  double refreshed = 0;  ///< of them, that have a forward pass instead
};

/// By epoch, with synthetic importance in place of the run's losses and notion. Of what depends on
/// how well a model knows an example as much is hidden as is planned: a run hides at most that.
std::vector<VisitShares> simulate_visits(const placement::PlacementSpec& decisions,
                                         const SimulatedPlacementSpec& spec);

}  // namespace impart::cost

#pragma once

#include <cstdint>
#include <vector>

#include "impart/cost/simulated_placement.h"
#include "impart/placement/placement_spec.h"
#include "impart/placement/selections.h"

namespace impart::cost {

/// What a selection visits in an epoch, as shares of the examples.
struct VisitShares {
  double visits = 1;
  double hidden = 0;     ///< examples without a visit
  double refreshed = 0;  ///< of them, that have a forward pass instead
};

/// Of so many examples; `refreshes`: what is hidden has a forward pass.
VisitShares shares_of(const placement::Selected& selected, std::uint64_t examples, bool refreshes);

/// By epoch, with synthetic importance in place of the run's losses and notion. Of what depends on
/// how well a model knows an example as much is hidden as is planned: a run hides at most that.
std::vector<VisitShares> simulate_visits(const placement::PlacementSpec& decisions,
                                         const SimulatedPlacementSpec& spec);

}  // namespace impart::cost

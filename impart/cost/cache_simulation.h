#pragma once

#include <cstdint>
#include <vector>

#include "impart/cost/simulated_placement.h"
#include "impart/placement/placement.h"

namespace impart::cost {

struct CacheSimulationSpec {
  SimulatedPlacementSpec placement = {};
  std::uint64_t capacity = 0;   ///< examples that the cache of one process holds
  std::uint32_t processes = 1;  ///< at most as many as there are workers
  std::uint32_t epochs = 0;     ///< how many of the run's are simulated, from the first on
};

/// Which share of the reads of each epoch a least-recently-used cache in every process of a
/// replicated store answers: each process reads the examples of its workers in the order of
/// training, and before that all of them once more where an exchange needs their loss.
/// About 0.1 µs per read.
std::vector<double> simulate_cache(const placement::PlacementSpec& decisions,
                                   const CacheSimulationSpec& spec);

}  // namespace impart::cost

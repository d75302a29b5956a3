#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "impart/cost/simulated_placement.h"
#include "impart/placement/placement.h"

namespace impart::cost {

/// What keeps as many examples as it has room for, and lets go what was not read for longest.
class RecentlyRead {
 public:
  explicit RecentlyRead(std::uint64_t capacity) : capacity_(capacity) {}

  /// Whether the example was there; afterwards it is.
  bool read(ExampleId id);

 private:
  std::uint64_t capacity_;
  std::list<std::uint64_t> order_;  ///< the last one read in front
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> places_;
};

/// One of these in each process of a replicated store.
class RecentCaches {
 public:
  /// ConfigError if there are more processes than workers, or none.
  RecentCaches(std::uint32_t workers, std::uint32_t processes, std::uint64_t capacity);

  /// All workers read their lists side by side.
  void read(const placement::Parts& lists);
  /// The share of hits since the last call.
  double take_share();

 private:
  void read(std::uint32_t worker, ExampleId id);

  std::uint32_t workers_;
  std::vector<RecentlyRead> caches_;
  std::uint64_t hits_ = 0, reads_ = 0;
};

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

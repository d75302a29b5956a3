#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "impart/core/progress.h"
#include "impart/cost/simulated_placement.h"
#include "impart/placement/schedule.h"

namespace impart::cost {

/// What one change of the partition moves, over all workers.
struct EventMoves {
  placement::ScheduleEvent event;
  double moved = 0;  ///< examples that change their worker
  double flows = 0;  ///< distinct (from, to) pairs of workers that carry any
  /// Most examples that a worker holds, if it forgets nothing before all new ones have arrived.
  double peak = 0;
  bool importance_pass = false;  ///< a forward pass over all examples comes before it
};

struct MoveSimulationSpec {
  SimulatedPlacementSpec placement = {};
  /// Examples of the data set that the moves and peaks are scaled to; the same as
  /// placement.examples, or more if a smaller one stands for it.
  std::uint64_t examples = 0;
  /// How many events of each kind are carried out. The others are taken to cost the mean of those,
  /// without the first, which starts from a random partition.
  std::uint64_t most_events = UINT64_MAX;
};

struct SimulatedMoves {
  std::vector<EventMoves> events;  ///< all events of the schedule
  std::uint64_t carried_out = 0;
};

/// Runs a schedule's decisions and counts what they move. O(examples) per event carried out.
SimulatedMoves simulate_moves(const placement::PlacementSpec& decisions,
                              const MoveSimulationSpec& spec, const Progress& progress = {});

/// Most examples that one worker has, together with those that come to it.
std::uint64_t most_held(const placement::Partition& before, const placement::Partition& after);

/// The mean number of examples that a run of this schedule moves, where a formula is known: a
/// random partition moves N(1−1/n) from any other (for equal parts), `partial` and `is` nk(1−1/n),
/// `is-pair` and `ilag-pair` 2k⌊n/2⌋, k examples given by each worker. None for heuristics that
/// look at importance and for `balance-pair`.
std::optional<double> expected_moves(const placement::PlacementSpec& decisions,
                                     std::uint64_t examples);

}  // namespace impart::cost

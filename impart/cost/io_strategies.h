#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impart/placement/placement.h"

namespace impart::cost {

/// A way to place examples over the epochs of a run, under the name that tables show.
struct IoStrategy {
  std::string name;
  placement::PlacementSpec decisions;
};

struct IoStrategiesSpec {
  /// Epochs, workers, warm-up and seed of all strategies; as it is, it is the strategy `config`.
  placement::PlacementSpec base = {};
  std::vector<std::uint32_t> intervals = {5, 10, 30};
  std::vector<double> fractions = {0.1, 0.3};
};

/// The strategies of these names:
///   vanilla             a new random partition in every epoch
///   local               a random partition that stays
///   stripes, blocks, …  any heuristic, after the warm-up, once for each interval
///   sticky-stripes, …   the same, moving as little as the heuristic allows
///   partial, is, …      any exchange from a random partition on, once for each fraction
///   config              the base
/// and with "@": stripes@7 has an interval of 7, partial@0.2 a fraction of 0.2. ConfigError for
/// other names and numbers.
std::vector<IoStrategy> make_io_strategies(std::span<const std::string> names,
                                           const IoStrategiesSpec& spec);

/// The ten that matter most: vanilla, local, (sticky) stripes, sticky blocks, and the exchanges.
std::vector<std::string> main_io_strategies();

/// All strategies to compare when nobody says which: vanilla, local, (sticky) stripes at all
/// intervals, the other heuristics at the middle one, all exchanges at all fractions.
std::vector<std::string> usual_io_strategies(const IoStrategiesSpec& spec);

}  // namespace impart::cost

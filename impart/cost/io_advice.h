#pragma once

#include <span>
#include <string>

#include "impart/cost/epoch_time.h"

namespace impart::cost {

struct TimedStrategy {
  std::string name;
  double moved = 0;  ///< examples, in a mean epoch
  EpochTime time = {};
};

/// Differences below this share of an epoch are no reason to prefer a strategy.
inline constexpr double kShareToGain = 0.05;

/// Which strategy to take, in one sentence: of those that are about as fast as the fastest the one
/// that mixes most. At least one strategy is there.
std::string advise(std::span<const TimedStrategy> strategies);

}  // namespace impart::cost

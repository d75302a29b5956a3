#include "impart/config/epochs.h"

#include <algorithm>
#include <cmath>

namespace impart::config {

std::uint32_t Epochs::of(std::uint32_t epochs) const {
  if (!percent) return count;
  return static_cast<std::uint32_t>(std::floor(*percent * epochs / 100 + 0.5));
}

std::uint32_t EpochInterval::of(std::uint32_t epochs) const {
  const std::uint32_t nearest = Epochs::of(epochs);
  return percent && *percent > 0 ? std::max(1u, nearest) : nearest;
}

}  // namespace impart::config

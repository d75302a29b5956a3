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

bool EpochInterval::is_due(std::uint32_t done, std::uint32_t epochs) const {
  const std::uint32_t interval = of(epochs);
  return interval > 0 && done % interval == 0;
}

}  // namespace impart::config

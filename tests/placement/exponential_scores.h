#pragma once

#include <cstdint>
#include <vector>

#include "impart/core/random.h"

namespace impart::placement {

/// Importance with a long tail, drawn.
inline std::vector<float> exponential_scores(std::uint64_t examples, std::uint64_t seed) {
  RandomStream random({.seed = seed, .purpose = Purpose("test")});
  std::vector<float> scores(examples);
  for (float& score : scores) score = static_cast<float>(random.exponential());
  return scores;
}

}  // namespace impart::placement

#pragma once

#include <cmath>
#include <cstdint>

#include "impart/placement/selections.h"

namespace impart::placement {

/// How many epochs at the end of a run visit everything: from epoch ⌈δT⌉ on, where 1 - δ is
/// published.
inline std::uint32_t published_final_epochs(const PublishedSelection& published,
                                            std::uint32_t epochs) {
  return static_cast<std::uint32_t>(std::floor(published.final_share * epochs + 1e-9));
}

}  // namespace impart::placement

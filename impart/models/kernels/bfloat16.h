#pragma once

#include <bit>
#include <cstdint>

#include "impart/core/vector_clones.h"

namespace impart::kernels {

/// The bits of a bfloat16: the upper half of a float.
using Half = std::uint16_t;

IMPART_INLINE float widen(Half value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

/// Rounds to the nearest, ties to even; what is not a number stays so.
IMPART_INLINE Half narrow(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return static_cast<Half>(value == value ? rounded : 0x7fc0u);
}

}  // namespace impart::kernels

#pragma once

#include <cstdint>
#include <cstring>

#include "impart/core/vector_clones.h"

/// Vectors of 16 floats for functions with IMPART_VECTOR_CLONES. Compilers split them into the
/// vectors that the processor has. Functions take them by reference: how they are passed by value
/// depends on the processor.
namespace impart {

inline constexpr std::int64_t kLanes = 16;

using Floats = float __attribute__((vector_size(64)));
using SignedWords = std::int32_t __attribute__((vector_size(64)));
using UnsignedWords = std::uint32_t __attribute__((vector_size(64)));

IMPART_INLINE void load(Floats& vector, const float* from) {
  std::memcpy(&vector, from, sizeof vector);
}

IMPART_INLINE void store(float* to, const Floats& vector) {
  std::memcpy(to, &vector, sizeof vector);
}

IMPART_INLINE float sum_of(const Floats& vector) {
  float sum = 0;
  for (int i = 0; i < kLanes; ++i) sum += vector[i];
  return sum;
}

/// x := exp(x) for x up to 88, to within 2 ulp (Cephes' polynomial); 0 below -87, where floats end.
IMPART_INLINE void exponentiate(Floats& x) {
  constexpr float kLowest = -87.0f, kLog2E = 1.44269504088896341f;
  constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  constexpr float kRounder = 12582912.0f;  // 1.5 · 2^23: adding it rounds to an integer
  const SignedWords tiny = x < kLowest;
  x = tiny ? Floats{} + kLowest : x;
  const Floats shifted = x * kLog2E + kRounder;
  const Floats power = shifted - kRounder;
  const Floats r = (x - power * kLn2High) - power * kLn2Low;
  Floats y = r * 1.9875691500e-4f + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * r * r + r + 1.0f;
  SignedWords bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits - 0x4B400000 + 127) << 23;
  Floats scale;
  std::memcpy(&scale, &bits, sizeof scale);
  x = tiny ? Floats{} : y * scale;
}

}  // namespace impart

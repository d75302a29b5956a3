#pragma once

#include <cmath>
#include <cstdint>

namespace impart::placement {

/// How many of `size` are `share` of them, when this was asked `earlier` times before: what
/// rounding left over then is made up for, so that the long-run mean is exact.
inline std::uint64_t share_with_carry(double share, std::uint64_t size, std::uint64_t earlier) {
  // In all after so many times. The small term keeps 0.29 · 100 from being 28.
  const auto after = [&](std::uint64_t times) {
    const double wanted = share * static_cast<double>(size) * static_cast<double>(times);
    return static_cast<std::uint64_t>(std::floor(wanted + 1e-9));
  };
  return after(earlier + 1) - after(earlier);
}

}  // namespace impart::placement

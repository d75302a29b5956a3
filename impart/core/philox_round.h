#pragma once

// One round of Philox4x32, for all that compute it.

#include <cstdint>

#include "impart/core/vector_clones.h"

namespace impart::philox {

constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;  ///< what a round adds to the key
constexpr int kRounds = 10;

IMPART_INLINE void mix(std::uint32_t& c0, std::uint32_t& c1, std::uint32_t& c2, std::uint32_t& c3,
                       std::uint32_t key0, std::uint32_t key1) {
  const std::uint64_t product0 = std::uint64_t{kMultiplier0} * c0;
  const std::uint64_t product1 = std::uint64_t{kMultiplier1} * c2;
  c0 = static_cast<std::uint32_t>(product1 >> 32) ^ c1 ^ key0;
  c1 = static_cast<std::uint32_t>(product1);
  c2 = static_cast<std::uint32_t>(product0 >> 32) ^ c3 ^ key1;
  c3 = static_cast<std::uint32_t>(product0);
}

}  // namespace impart::philox

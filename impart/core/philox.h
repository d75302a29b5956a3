#pragma once

#include <array>
#include <cstdint>

namespace impart {

/// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
/// SC 2011): a keyed bijection of 128-bit counters whose outputs are random numbers. Any block can
/// be computed at any time by any process, with no state to carry around.
using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

PhiloxCounter philox4x32_10(PhiloxCounter counter, PhiloxKey key);

constexpr int kPhiloxBlocks = 16;
using PhiloxWords = std::array<std::uint32_t, 4 * kPhiloxBlocks>;

/// The blocks of `counter` and of those that follow in its first word, one after the other: several
/// times faster than one by one.
void philox4x32_10_blocks(const PhiloxCounter& counter, PhiloxKey key, PhiloxWords& words);

}  // namespace impart

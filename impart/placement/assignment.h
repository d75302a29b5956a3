#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace impart::placement {

/// The assignment problem: picks one column for each of `size` rows, every column once, so that the
/// sum of the picked weights is as large as it can be. `weights` is row-major, size × size.
/// Shortest augmenting paths from a greedy start: O(size³) at worst, near O(size²) when rows mostly
/// agree on different columns.
std::vector<std::uint32_t> assign_for_largest_sum(std::span<const std::uint32_t> weights,
                                                  std::uint32_t size);

}  // namespace impart::placement

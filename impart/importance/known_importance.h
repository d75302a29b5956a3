#pragma once

#include <cstdint>
#include <span>

namespace impart::importance {

/// What importance becomes where the visits of a window do not say it. NaN stands for unknown.

/// An example that had a NaN or infinite signal (non_finite > 0; may be empty), or whose importance
/// is infinite, gets the largest importance of the others; another unknown one what it had in
/// `previous`, which is empty if there was none and may hold NaN.
void settle_importance(std::span<float> importance, std::span<const std::uint32_t> non_finite,
                       std::span<const float> previous);

/// Examples that are still unknown get the mean of the others; 0 if all are.
void fill_unknown(std::span<float> importance);

}  // namespace impart::importance

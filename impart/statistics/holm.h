#pragma once

#include <span>
#include <vector>

namespace impart::statistics {

/// Holm's correction for testing many arms at once: the chance of even one false claim among those
/// with an adjusted p <= alpha is at most alpha, however the tests depend on each other.
///
/// Of m p-values in ascending order the i-th (from 0) is multiplied by m - i, made no smaller than
/// the adjusted value before it, and cut at 1. Adjusted values are in the order of the input, equal
/// p-values get equal ones. O(m log m). DataError for a p-value that is not in [0, 1].
std::vector<double> adjust_by_holm(std::span<const double> p_values);

}  // namespace impart::statistics

#pragma once

#include <span>
#include <vector>

namespace impart::statistics {

/// Ranks from 1, smallest first; equal values share the mean of their ranks. NaN is not allowed.
/// O(n log n).
std::vector<double> midranks(std::span<const double> values);

/// Sum of t³ - t over the groups of t equal values: what ties take from a rank test's variance.
double tie_correction(std::span<const double> values);

}  // namespace impart::statistics

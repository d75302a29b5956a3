#pragma once

#include <optional>
#include <span>

#include "impart/statistics/describe.h"
#include "impart/statistics/interval.h"

namespace impart::statistics {

/// How alike an arm and the baseline are over the same seeds, and what comparing by pairs is worth.
struct Pairing {
  double std_arm = 0;
  double std_baseline = 0;
  double std_difference = 0;
  std::optional<double> correlation = {};  ///< Pearson's; absent if one of them has no spread
  /// What pairing takes away of the variance of a difference: 1 - var(a - b) / (var(a) + var(b)).
  /// Negative where pairs differ more than strangers; absent if neither has a spread.
  std::optional<double> removed = {};
};

/// Value i of the arm belongs to value i of the baseline. DataError unless there are two pairs or
/// more, all finite.
Pairing measure_pairing(std::span<const double> arm, std::span<const double> baseline);

/// A variance as a share of another. The interval is that of the ratio of variances of two
/// independent normal samples (F), which for ten values each spans a factor of 16.
struct VarianceShare {
  double share = 0;
  Interval interval;
};

/// Absent if one of them has fewer than two values, or `whole` has no spread.
std::optional<VarianceShare> variance_share(const Description& part, const Description& whole,
                                            double confidence = 0.95);

}  // namespace impart::statistics

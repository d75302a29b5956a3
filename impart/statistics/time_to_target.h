#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace impart::statistics {

/// Which way a metric improves.
enum class Better { kHigher, kLower };

/// The first position (epoch, step, second) at which the metric reaches the target, that is, is at
/// least as good. Absent if it never does; NaN reaches nothing. `positions[i]` belongs to
/// `values[i]` and positions must not fall, or DataError.
std::optional<double> first_reached(std::span<const double> positions,
                                    std::span<const double> values, double target,
                                    Better better = Better::kHigher);

/// The runs of one arm on their way to a target.
struct TargetTimes {
  std::size_t runs = 0;
  std::size_t reached = 0;
  /// Over all runs, those that never got there counting as infinitely late, so that giving up does
  /// not look fast. Absent if it is infinite: half of the runs or more did not reach the target.
  std::optional<double> median = {};
};

TargetTimes summarise_times(std::span<const std::optional<double>> times);

}  // namespace impart::statistics

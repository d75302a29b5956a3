#include "impart/statistics/time_to_target.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/statistics/describe.h"

namespace impart::statistics {

std::optional<double> first_reached(std::span<const double> positions,
                                    std::span<const double> values, double target, Better better) {
  if (positions.size() != values.size()) {
    throw DataError(
        fmt::format("a curve has {} positions but {} values", positions.size(), values.size()));
  }
  if (std::isnan(target)) throw ConfigError("a target cannot be nan");
  for (std::size_t i = 1; i < positions.size(); ++i) {
    if (positions[i] >= positions[i - 1]) continue;
    throw DataError(fmt::format("position {} of a curve is {}, after {}: they must not fall", i,
                                positions[i], positions[i - 1]));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (better == Better::kHigher ? values[i] >= target : values[i] <= target) return positions[i];
  }
  return std::nullopt;
}

TargetTimes summarise_times(std::span<const std::optional<double>> times) {
  TargetTimes result{.runs = times.size()};
  std::vector<double> sorted;
  for (const auto& time : times) {
    result.reached += time.has_value() ? 1 : 0;
    sorted.push_back(time.value_or(std::numeric_limits<double>::infinity()));
  }
  if (sorted.empty()) return result;
  std::sort(sorted.begin(), sorted.end());
  const double median = quantile_of_sorted(sorted, 0.5);
  if (std::isfinite(median)) result.median = median;
  return result;
}

}  // namespace impart::statistics

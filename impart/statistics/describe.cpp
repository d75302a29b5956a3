#include "impart/statistics/describe.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::statistics {
namespace {}  // namespace

void require_finite(std::span<const double> values, const char* what) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    throw DataError(fmt::format("value {} of {}{}{} is {}, statistics need finite numbers", i,
                                values.size(), *what == '\0' ? "" : " of ", what, values[i]));
  }
}

double mean_of(std::span<const double> values) {
  if (values.empty()) return kNan;
  const auto n = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values) mean += value / n;
  double residue = 0;  // what rounding has left out
  for (const double value : values) residue += (value - mean) / n;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return std::clamp(mean + residue, *low, *high);
}

double std_of(std::span<const double> values) {
  if (values.size() < 2) return kNan;
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double quantile_of_sorted(std::span<const double> sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const double below = std::floor(position);
  const double share = position - below;
  const auto i = static_cast<std::size_t>(below);
  if (share == 0 || sorted[i] == sorted[i + 1]) return sorted[i];
  return sorted[i] + share * (sorted[i + 1] - sorted[i]);
}

Description describe(std::span<const double> values) {
  if (values.empty()) throw DataError("there are no values to describe");
  require_finite(values);
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return {.n = values.size(),
          .mean = mean_of(values),
          .std = std_of(values),
          .min = sorted.front(),
          .lower_quartile = quantile_of_sorted(sorted, 0.25),
          .median = quantile_of_sorted(sorted, 0.5),
          .upper_quartile = quantile_of_sorted(sorted, 0.75),
          .max = sorted.back()};
}

}  // namespace impart::statistics

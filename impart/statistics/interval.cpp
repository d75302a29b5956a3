#include "impart/statistics/interval.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/statistics/describe.h"

namespace impart::statistics {
namespace {

namespace bm = boost::math;

Interval student_interval(std::span<const double> values, double confidence) {
  const auto n = static_cast<double>(values.size());
  const bm::students_t distribution(n - 1);
  const double t = bm::quantile(bm::complement(distribution, (1 - confidence) / 2));
  const double mean = mean_of(values);
  const double half = t * std_of(values) / std::sqrt(n);
  return {mean - half, mean + half};
}

/// Means of samples drawn from the values with replacement, ascending.
std::vector<double> resampled_means(std::span<const double> values, const IntervalSpec& spec) {
  RandomStream random({.seed = spec.seed, .purpose = Purpose("bootstrap")});
  std::vector<double> means(spec.resamples);
  for (double& mean : means) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += values[random.below(values.size())];
    mean = sum / static_cast<double>(values.size());
  }
  std::sort(means.begin(), means.end());
  return means;
}

/// Skewness of the mean over six, from leaving out one value at a time.
double acceleration(std::span<const double> values) {
  const double mean = mean_of(values);
  double squares = 0;
  double cubes = 0;
  for (const double value : values) {
    const double distance = value - mean;  // n - 1 times what leaving it out changes
    squares += distance * distance;
    cubes += distance * distance * distance;
  }
  return squares == 0 ? 0 : cubes / (6 * std::pow(squares, 1.5));
}

/// The share of resampled means below the mean. Those that hit it, to within rounding, count half;
/// none or all of them would put the bias at infinity, so half a resample is kept on each side.
double share_below(std::span<const double> means, std::span<const double> values) {
  const double mean = mean_of(values);
  const double rounding = 1e-12 * std::max(std::abs(means.front()), std::abs(means.back()));
  const auto first = std::lower_bound(means.begin(), means.end(), mean - rounding);
  const auto last = std::upper_bound(means.begin(), means.end(), mean + rounding);
  const auto twice = static_cast<double>((first - means.begin()) + (last - means.begin()));
  const auto count = static_cast<double>(means.size());
  return std::clamp(twice / 2, 0.5, count - 0.5) / count;
}

Interval bca_interval(std::span<const double> values, const IntervalSpec& spec) {
  const std::vector<double> means = resampled_means(values, spec);
  const bm::normal normal;
  const double bias = bm::quantile(normal, share_below(means, values));
  const double a = acceleration(values);
  const auto end = [&](double probability) {
    const double z = bias + bm::quantile(normal, probability);
    if (a * z >= 1) return z > 0 ? means.back() : means.front();
    return quantile_of_sorted(means, bm::cdf(normal, bias + z / (1 - a * z)));
  };
  return {end((1 - spec.confidence) / 2), end((1 + spec.confidence) / 2)};
}

}  // namespace

Interval mean_interval(std::span<const double> values, const IntervalSpec& spec) {
  if (!(spec.confidence > 0 && spec.confidence < 1)) {
    throw ConfigError(
        fmt::format("the confidence is {}, it must be between 0 and 1", spec.confidence));
  }
  if (spec.resamples == 0) throw ConfigError("a bootstrap of 0 resamples has no interval");
  require_finite(values);
  if (values.size() < 2) {
    throw DataError(
        fmt::format("an interval needs two values or more, there are {}", values.size()));
  }
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  if (*low == *high) return {*low, *low};
  return spec.kind == IntervalKind::kBca ? bca_interval(values, spec)
                                         : student_interval(values, spec.confidence);
}

}  // namespace impart::statistics

#include "impart/statistics/power.h"

#include <algorithm>
#include <cmath>

#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/non_central_t.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::statistics {
namespace {

namespace bm = boost::math;
constexpr std::uint64_t kMostPairs = 1'000'000;
constexpr double kLargeShift = 1e4;

void check(const PowerSpec& spec) {
  const bool possible =
      spec.alpha > 0 && spec.alpha < 1 && spec.power > 0 && spec.power < 1 && spec.arms > 0;
  if (possible && spec.power > spec.alpha / spec.arms) return;
  throw ConfigError(fmt::format(
      "alpha is {}, power {}, arms {}: alpha and power must be between 0 and 1, power above alpha, "
      "and there must be an arm",
      spec.alpha, spec.power, spec.arms));
}

void check_pairs(std::uint64_t n) {
  if (n < 2) throw ConfigError(fmt::format("a test needs 2 values or more, not {}", n));
}

double critical_t(double degrees, const PowerSpec& spec) {
  return bm::quantile(bm::complement(bm::students_t(degrees), spec.alpha / spec.arms / 2));
}

/// Chance that |T| > critical, T = (Z + shift) / sqrt(V / degrees) with Z normal, V chi-squared:
/// the noncentral t. The tail on the other side of 0 matters for small shifts only. Beyond
/// kLargeShift, where Boost's series no longer ends, Z counts for less than 1e-8.
double chance_beyond(double critical, double degrees, double shift) {
  if (shift == 0) return 2 * bm::cdf(bm::complement(bm::students_t(degrees), critical));
  if (shift > kLargeShift) {
    const double ratio = shift / critical;
    return bm::cdf(bm::chi_squared(degrees), degrees * ratio * ratio);
  }
  const bm::non_central_t distribution(degrees, shift);
  const double far = shift < 5 ? bm::cdf(distribution, -critical) : 0;
  return bm::cdf(bm::complement(distribution, critical)) + far;
}

/// The shift (difference over standard error) that is seen with the power of `spec`.
double detectable_shift(double degrees, const PowerSpec& spec) {
  const double critical = critical_t(degrees, spec);
  const auto lack = [&](double shift) {
    return chance_beyond(critical, degrees, shift) - spec.power;
  };
  double high = critical + 1;
  while (lack(high) < 0) high *= 2;
  std::uintmax_t steps = 100;
  const auto [low_end, high_end] =
      bm::tools::toms748_solve(lack, 0.0, high, bm::tools::eps_tolerance<double>(40), steps);
  return (low_end + high_end) / 2;
}

}  // namespace

double paired_power(std::uint64_t pairs, double effect, const PowerSpec& spec) {
  check(spec);
  check_pairs(pairs);
  const auto n = static_cast<double>(pairs);
  return chance_beyond(critical_t(n - 1, spec), n - 1, std::abs(effect) * std::sqrt(n));
}

double detectable_difference(std::uint64_t pairs, double std, const PowerSpec& spec) {
  check(spec);
  check_pairs(pairs);
  if (!(std >= 0) || !std::isfinite(std)) {
    throw ConfigError(fmt::format("a standard deviation cannot be {}", std));
  }
  const auto n = static_cast<double>(pairs);
  return std == 0 ? 0 : detectable_shift(n - 1, spec) * std / std::sqrt(n);
}

double detectable_difference(const TwoSamples& samples, const PowerSpec& spec) {
  check(spec);
  check_pairs(samples.n_a);
  check_pairs(samples.n_b);
  const auto n_a = static_cast<double>(samples.n_a);
  const auto n_b = static_cast<double>(samples.n_b);
  const double variance_a = samples.std_a * samples.std_a / n_a;
  const double variance_b = samples.std_b * samples.std_b / n_b;
  const double variance = variance_a + variance_b;
  if (!(variance >= 0) || !std::isfinite(variance)) {
    throw ConfigError(
        fmt::format("standard deviations cannot be {} and {}", samples.std_a, samples.std_b));
  }
  if (variance == 0) return 0;
  const double degrees =
      variance * variance /
      (variance_a * variance_a / (n_a - 1) + variance_b * variance_b / (n_b - 1));
  return detectable_shift(degrees, spec) * std::sqrt(variance);
}

std::optional<std::uint64_t> pairs_needed(double difference, double std, const PowerSpec& spec) {
  check(spec);
  if (!std::isfinite(difference) || !(std >= 0) || !std::isfinite(std)) {
    throw ConfigError(
        fmt::format("no number of pairs belongs to a difference of {} with a "
                    "standard deviation of {}",
                    difference, std));
  }
  if (difference == 0) return std::nullopt;
  const auto enough = [&](std::uint64_t n) {
    return std == 0 || paired_power(n, difference / std, spec) >= spec.power;
  };
  std::uint64_t high = 2;
  while (!enough(high)) {
    if (high == kMostPairs) return std::nullopt;
    high = std::min(2 * high, kMostPairs);
  }
  std::uint64_t low = high / 2;  // not enough, or 1
  while (low + 1 < high) {
    const std::uint64_t middle = (low + high) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace impart::statistics

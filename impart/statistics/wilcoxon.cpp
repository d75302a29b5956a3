#include "impart/statistics/wilcoxon.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <boost/math/distributions/normal.hpp>

#include "impart/core/error.h"
#include "impart/statistics/describe.h"
#include "impart/statistics/ranks.h"

namespace impart::statistics {
namespace {

/// The share of sign patterns whose positive ranks add up to `statistic` or less, twice. Ranks are
/// halves, so everything is counted in halves; shares rather than counts, which would overflow.
double exact_p(std::span<const double> ranks, double statistic) {
  std::vector<double> share{1};  // share[s]: patterns whose positive ranks add up to s halves
  for (const double rank : ranks) {
    const auto halves = static_cast<std::size_t>(std::lround(2 * rank));
    std::vector<double> next(share.size() + halves);
    for (std::size_t sum = 0; sum < share.size(); ++sum) {
      next[sum] += share[sum] / 2;
      next[sum + halves] += share[sum] / 2;
    }
    share = std::move(next);
  }
  const auto last = static_cast<std::size_t>(std::lround(2 * statistic));
  double tail = 0;
  for (std::size_t sum = 0; sum <= last; ++sum) tail += share[sum];
  return std::min(1.0, 2 * tail);
}

double normal_p(std::span<const double> sizes, double statistic) {
  const auto n = static_cast<double>(sizes.size());
  const double mean = n * (n + 1) / 4;
  const double variance = n * (n + 1) * (2 * n + 1) / 24 - tie_correction(sizes) / 48;
  // The statistic is the smaller sum, so half a step towards the mean is upwards.
  const double z = std::min(0.0, statistic + 0.5 - mean) / std::sqrt(variance);
  return std::min(1.0, 2 * boost::math::cdf(boost::math::normal(), z));
}

}  // namespace

WilcoxonTest wilcoxon_test(std::span<const double> differences, WilcoxonMethod method) {
  if (differences.empty()) throw DataError("there are no differences to test");
  require_finite(differences);
  std::vector<double> sizes;
  std::vector<bool> positive;
  for (const double difference : differences) {
    if (difference == 0) continue;
    sizes.push_back(std::abs(difference));
    positive.push_back(difference > 0);
  }
  if (sizes.empty()) return {.p = 1, .exact = true};
  const std::vector<double> ranks = midranks(sizes);
  double above = 0;
  double below = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) (positive[i] ? above : below) += ranks[i];
  const double statistic = std::min(above, below);
  const bool exact = method == WilcoxonMethod::kExact ||
                     (method == WilcoxonMethod::kAuto && sizes.size() <= kExactWilcoxon);
  return {.statistic = statistic,
          .p = exact ? exact_p(ranks, statistic) : normal_p(sizes, statistic),
          .used = sizes.size(),
          .exact = exact};
}

}  // namespace impart::statistics

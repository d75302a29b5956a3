#include "impart/statistics/non_inferiority.h"

#include <cmath>

#include <boost/math/distributions/students_t.hpp>
#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::statistics {

std::optional<NonInferiority> test_non_inferiority(const PairedComparison& pairs, Better better,
                                                   double margin, double confidence) {
  if (!(margin > 0)) {
    throw ConfigError(fmt::format("the margin is {}, it must be more than 0", margin));
  }
  if (pairs.n < 2 || !(pairs.std > 0)) return std::nullopt;
  const double gain = better == Better::kHigher ? pairs.mean_difference : -pairs.mean_difference;
  const double error = pairs.std / std::sqrt(static_cast<double>(pairs.n));
  const boost::math::students_t distribution(static_cast<double>(pairs.n - 1));
  return NonInferiority{
      .margin = margin,
      .worst = gain - error * boost::math::quantile(distribution, confidence),
      .p = boost::math::cdf(boost::math::complement(distribution, (gain + margin) / error))};
}

}  // namespace impart::statistics

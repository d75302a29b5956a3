#include "impart/statistics/seeds_needed.h"

#include <cmath>

#include <boost/math/distributions/chi_squared.hpp>

namespace impart::statistics {

double largest_std(double std, std::size_t n, double confidence) {
  const double degrees = static_cast<double>(n) - 1;
  const boost::math::chi_squared distribution(degrees);
  return std * std::sqrt(degrees / boost::math::quantile(distribution, 1 - confidence));
}

std::vector<ArmPower> seeds_needed(const ArmRuns& baseline, std::span<const ArmRuns> arms,
                                   double difference, const PowerSpec& spec) {
  std::vector<ArmPower> powers;
  for (const ArmRuns& arm : arms) {
    const PairedRuns pairs = pair_by_seed(arm, baseline);
    ArmPower& power = powers.emplace_back(ArmPower{.name = arm.name, .pairs = pairs.arm.size()});
    if (power.pairs < kFewestPairs) continue;
    const double std = std_of(paired_differences(pairs.arm, pairs.baseline));
    power.std = std;
    power.detectable = detectable_difference(power.pairs, std, spec);
    power.needed = pairs_needed(difference, std, spec);
    power.needed_at_worst =
        pairs_needed(difference, largest_std(std, power.pairs, kWorstCase), spec);
  }
  return powers;
}

}  // namespace impart::statistics

#include "impart/statistics/looks.h"

#include <algorithm>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::statistics {

std::vector<std::uint64_t> plan_looks(std::uint64_t at_least, std::uint64_t at_most) {
  if (at_least < 2 || at_least > at_most) {
    throw ConfigError(fmt::format(
        "looks from {} to {} seeds: the first needs 2 or more, and no more than the last", at_least,
        at_most));
  }
  std::vector<std::uint64_t> looks;
  for (std::uint64_t seeds = at_most; seeds >= at_least; seeds = (seeds + 1) / 2) {
    looks.push_back(seeds);
  }
  std::reverse(looks.begin(), looks.end());
  return looks;
}

std::optional<WidestInterval> widest_interval(const ArmRuns& baseline,
                                              std::span<const ArmRuns> arms,
                                              const ComparisonSpec& spec) {
  const double confidence = interval_confidence(spec, arms.size());
  std::optional<WidestInterval> widest;
  for (const ArmRuns& arm : arms) {
    const PairedRuns pairs = pair_by_seed(arm, baseline);
    if (pairs.arm.size() < 2) continue;
    const auto differences = paired_differences(pairs.arm, pairs.baseline);
    const Interval interval = mean_interval(differences, {.confidence = confidence});
    const double half_width = (interval.high - interval.low) / 2;
    if (!widest || half_width > widest->half_width) widest = {arm.name, half_width};
  }
  return widest;
}

}  // namespace impart::statistics

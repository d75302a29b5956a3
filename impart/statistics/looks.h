#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "impart/statistics/comparison.h"

namespace impart::statistics {

// A study may add seeds until its intervals are narrow enough. Whoever looks several times and
// stops when it suits him is wrong more often than one look is. So looks are planned beforehand,
// and each has the same part of the chance to be wrong (Bonferroni): what is claimed, and the
// intervals, hold at whatever look the study stops, for whatever reason.

/// The numbers of seeds after which a study looks at its results, ascending: `at_most`, half of
/// that, a quarter, …, rounded up, down to `at_least`. ConfigError unless 2 <= at_least <= at_most.
std::vector<std::uint64_t> plan_looks(std::uint64_t at_least, std::uint64_t at_most);

/// The arm whose difference to the baseline is known least.
struct WidestInterval {
  std::string arm;
  double half_width = 0;
};

/// The widest of the intervals that compare_arms gives for paired seeds. Arms with fewer than two
/// pairs have none and do not count; absent if that is all of them. DataError for values that are
/// not finite.
std::optional<WidestInterval> widest_interval(const ArmRuns& baseline,
                                              std::span<const ArmRuns> arms,
                                              const ComparisonSpec& spec);

}  // namespace impart::statistics

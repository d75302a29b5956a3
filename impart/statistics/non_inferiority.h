#pragma once

#include <optional>

#include "impart/statistics/paired.h"
#include "impart/statistics/time_to_target.h"

namespace impart::statistics {

/// "Just as good" is a claim of its own: that no significant difference was found does not prove
/// it.
struct NonInferiority {
  double margin = 0;  ///< by how much an arm may be worse
  double worst = 0;   ///< gain over the baseline that is exceeded with `confidence`, one-sided
  double p = 1;       ///< that it looks so if the arm is worse by the margin
};

/// Is an arm not worse than the baseline by more than a margin? A one-sided paired t-test. Absent
/// for fewer than two pairs, and where differences have no spread to judge by. ConfigError if the
/// margin is not above 0.
std::optional<NonInferiority> test_non_inferiority(const PairedComparison& pairs, Better better,
                                                   double margin, double confidence = 0.95);

}  // namespace impart::statistics

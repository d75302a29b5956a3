#pragma once

#include <cstddef>
#include <span>

namespace impart::statistics {

enum class WilcoxonMethod {
  kAuto,    ///< kExact up to kExactWilcoxon differences that are not 0, kNormal beyond
  kExact,   ///< counts all sign patterns of the ranks, tied ranks included
  kNormal,  ///< normal approximation with corrections for ties and continuity
};

inline constexpr std::size_t kExactWilcoxon = 50;

/// What a signed-rank test found.
struct WilcoxonTest {
  double statistic = 0;  ///< the smaller of the rank sums of positive and negative differences
  double p = 1;          ///< two-sided
  std::size_t used = 0;  ///< differences that are not 0; the others say nothing and are left out
  bool exact = false;
};

/// Wilcoxon's signed-rank test: are the differences centred at 0, by the ranks of their sizes?
/// Without ties, scipy's `wilcoxon(d, method="exact")`; kNormal is its
/// `wilcoxon(d, method="approx", correction=True)`. With ties scipy has no exact answer, this has.
/// Exact: O(n³). All differences 0 gives p = 1. DataError if there are none or one is not finite.
WilcoxonTest wilcoxon_test(std::span<const double> differences,
                           WilcoxonMethod method = WilcoxonMethod::kAuto);

}  // namespace impart::statistics

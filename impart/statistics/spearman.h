#pragma once

#include <optional>

#include "impart/core/scores.h"

namespace impart::statistics {

struct RankCorrelation {
  double rho = 0;  ///< -1 (opposite order) to 1 (same order)
  double p = 1;    ///< two-sided, from t with n - 2 degrees of freedom; scipy's. For n = 2 it is 1
};

/// Spearman's rank correlation of two scores of the same examples: Pearson's correlation of their
/// midranks, so ties are fair. NaN and infinities count as FiniteScores has them. O(n log n): 20 ms
/// for 50 000 examples.
///
/// Absent if it is undefined: fewer than two examples, or a score that is the same for all.
/// DataError if the sizes differ.
std::optional<RankCorrelation> rank_correlation(const Scores& a, const Scores& b);

}  // namespace impart::statistics

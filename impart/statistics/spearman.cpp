#include "impart/statistics/spearman.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <boost/math/distributions/students_t.hpp>
#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/statistics/ranks.h"

namespace impart::statistics {
namespace {

/// Midranks less their mean, which is (n + 1) / 2 whatever the ties.
std::vector<double> centred_ranks(const Scores& scores) {
  const FiniteScores finite(scores);
  auto ranks = finite.view().visit(
      [](auto values) { return midranks(std::vector<double>(values.begin(), values.end())); });
  for (double& rank : ranks) rank -= (static_cast<double>(ranks.size()) + 1) / 2;
  return ranks;
}

double product_sum(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double two_sided_p(double rho, double n) {
  if (n <= 2) return 1;
  if (std::abs(rho) == 1) return 0;
  const double t = std::abs(rho) * std::sqrt((n - 2) / ((1 - rho) * (1 + rho)));
  return 2 * boost::math::cdf(boost::math::complement(boost::math::students_t(n - 2), t));
}

}  // namespace

std::optional<RankCorrelation> rank_correlation(const Scores& a, const Scores& b) {
  if (a.size() != b.size()) {
    throw DataError(
        fmt::format("a rank correlation needs two scores of each example, there are "
                    "{} and {}",
                    a.size(), b.size()));
  }
  const std::vector<double> ranks_a = centred_ranks(a);
  const std::vector<double> ranks_b = centred_ranks(b);
  const double scale = product_sum(ranks_a, ranks_a) * product_sum(ranks_b, ranks_b);
  if (!(scale > 0)) return std::nullopt;
  const double rho = std::clamp(product_sum(ranks_a, ranks_b) / std::sqrt(scale), -1.0, 1.0);
  return RankCorrelation{rho, two_sided_p(rho, static_cast<double>(a.size()))};
}

}  // namespace impart::statistics

#include "impart/statistics/variance.h"

#include <cmath>
#include <vector>

#include <boost/math/distributions/fisher_f.hpp>
#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/statistics/paired.h"

namespace impart::statistics {
namespace {

double covariance_of(std::span<const double> a, std::span<const double> b) {
  const double mean_a = mean_of(a);
  const double mean_b = mean_of(b);
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - mean_a) * (b[i] - mean_b);
  return sum / static_cast<double>(a.size() - 1);
}

}  // namespace

Pairing measure_pairing(std::span<const double> arm, std::span<const double> baseline) {
  const std::vector<double> differences = paired_differences(arm, baseline);
  if (differences.size() < 2) {
    throw DataError(
        fmt::format("a spread needs two pairs or more, there are {}", differences.size()));
  }
  Pairing pairing{.std_arm = std_of(arm),
                  .std_baseline = std_of(baseline),
                  .std_difference = std_of(differences)};
  const double product = pairing.std_arm * pairing.std_baseline;
  if (product > 0) pairing.correlation = covariance_of(arm, baseline) / product;
  const double strangers = std::hypot(pairing.std_arm, pairing.std_baseline);
  if (strangers > 0) pairing.removed = 1 - std::pow(pairing.std_difference / strangers, 2);
  return pairing;
}

std::optional<VarianceShare> variance_share(const Description& part, const Description& whole,
                                            double confidence) {
  if (part.n < 2 || whole.n < 2 || whole.std == 0) return std::nullopt;
  const double share = std::pow(part.std / whole.std, 2);
  const boost::math::fisher_f f(static_cast<double>(part.n - 1), static_cast<double>(whole.n - 1));
  const double tail = (1 - confidence) / 2;
  return VarianceShare{.share = share,
                       .interval = {share / boost::math::quantile(boost::math::complement(f, tail)),
                                    share / boost::math::quantile(f, tail)}};
}

}  // namespace impart::statistics

#include "impart/placement/starts/dirichlet_shares.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace impart::placement {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// Logarithm of a gamma variate with a shape of 1 or more.
double draw_log_gamma_from_1(double shape, RandomStream& random) {
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    const double x = random.normal();
    const double root = 1.0 + c * x;
    const double u = random.open_uniform();
    if (root <= 0) continue;
    const double v = root * root * root;
    const double log_v = portable_log(v);
    if (portable_log(u) < 0.5 * x * x + d - d * v + d * log_v) return portable_log(d) + log_v;
  }
}

/// Gamma(a) is Gamma(a + 1) · U^(1/a).
double draw_log_gamma(double shape, RandomStream& random) {
  if (shape == 0) return kNever;
  if (shape >= 1) return draw_log_gamma_from_1(shape, random);
  const double larger = draw_log_gamma_from_1(shape + 1, random);
  return larger + portable_log(random.open_uniform()) / shape;
}

}  // namespace

std::vector<double> draw_shares(std::span<const double> parameters, RandomStream& random) {
  std::vector<double> shares;
  shares.reserve(parameters.size());
  for (const double shape : parameters) shares.push_back(draw_log_gamma(shape, random));
  const double largest = *std::max_element(shares.begin(), shares.end());
  double sum = 0;
  for (double& share : shares) sum += share = portable_exp(share - largest);
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace impart::placement

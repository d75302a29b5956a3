#include "impart/statistics/sign_flip.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/statistics/describe.h"

namespace impart::statistics {
namespace {

/// The sums of all sign patterns of `sizes`, ascending: each size splits the list into one shifted
/// up and one shifted down, and merging keeps the order.
std::vector<double> pattern_sums(std::span<const double> sizes) {
  std::vector<double> sums{0};
  std::vector<double> up;
  std::vector<double> down;
  for (const double size : sizes) {
    up = sums;
    down = sums;
    for (double& sum : up) sum += size;
    for (double& sum : down) sum -= size;
    sums.resize(up.size() + down.size());
    std::merge(down.begin(), down.end(), up.begin(), up.end(), sums.begin());
  }
  return sums;
}

/// The share of patterns with |sum| >= bound. By symmetry twice the share with sum >= bound, and
/// with a sum from each half, the partners of a falling sum are a growing tail of the other half.
double exact_share(std::span<const double> sizes, double bound) {
  if (bound <= 0) return 1;
  const auto left = pattern_sums(sizes.first(sizes.size() / 2));
  const auto right = pattern_sums(sizes.subspan(sizes.size() / 2));
  std::uint64_t count = 0;
  std::size_t partner = 0;
  for (std::size_t i = left.size(); i-- > 0;) {
    while (partner < right.size() && left[i] + right[partner] < bound) ++partner;
    count += right.size() - partner;
  }
  return 2 * static_cast<double>(count) * std::exp2(-static_cast<double>(sizes.size()));
}

double random_share(std::span<const double> sizes, double bound, const SignFlipSpec& spec) {
  RandomStream random({.seed = spec.seed, .purpose = Purpose("sign-flip")});
  std::uint64_t count = 0;
  for (std::uint32_t flip = 0; flip < spec.flips; ++flip) {
    double sum = 0;
    std::uint32_t signs = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i, signs >>= 1) {
      if (i % 32 == 0) signs = random.next32();
      sum += (signs & 1) != 0 ? sizes[i] : -sizes[i];
    }
    if (std::abs(sum) >= bound) ++count;
  }
  return static_cast<double>(count + 1) / (static_cast<double>(spec.flips) + 1);
}

}  // namespace

double smallest_sign_flip_p(std::size_t n) {
  return std::min(1.0, std::exp2(1 - static_cast<double>(n)));
}

SignFlipTest sign_flip_test(std::span<const double> differences, const SignFlipSpec& spec) {
  if (differences.empty()) throw DataError("there are no differences to test");
  require_finite(differences);
  double observed = 0;
  double total = 0;
  std::vector<double> sizes;
  for (const double difference : differences) {
    observed += difference;
    total += std::abs(difference);
    sizes.push_back(std::abs(difference));
  }
  const double bound = std::abs(observed) - 1e-12 * total;
  if (sizes.size() <= kExactSignFlips) return {exact_share(sizes, bound), true};
  return {bound <= 0 ? 1 : random_share(sizes, bound, spec), false};
}

}  // namespace impart::statistics

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace impart::statistics {

/// Which sign patterns are tried.
struct SignFlipSpec {
  std::uint32_t flips = 100'000;  ///< random ones, where there are too many to count them all
  std::uint64_t seed = 0;
};

/// What a sign-flip test found.
struct SignFlipTest {
  double p = 1;        ///< two-sided
  bool exact = false;  ///< all 2^n sign patterns were counted, not a random choice of them
};

/// Up to this many differences all sign patterns are counted; beyond, random ones.
inline constexpr std::size_t kExactSignFlips = 32;

/// Are the differences centred at 0? If they are, and symmetric, each could as well have had the
/// other sign. p is the share of the 2^n sign patterns whose sum is at least as far from 0 as the
/// observed one; with m random patterns, b of them as far, it is (b + 1) / (m + 1). Sums that
/// differ by rounding only are equal.
///
/// Exact: O(2^(n/2)), since the sums of two halves are merged rather than all patterns visited;
/// 6 ms for n = 32. Random: O(flips · n). All differences 0 gives p = 1. DataError if there are
/// none or one is not finite.
SignFlipTest sign_flip_test(std::span<const double> differences, const SignFlipSpec& spec = {});

/// The smallest p that n differences can have: 2 / 2^n.
double smallest_sign_flip_p(std::size_t n);

}  // namespace impart::statistics

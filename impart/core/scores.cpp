#include "impart/core/scores.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

namespace impart {
namespace {

/// How many are NaN or infinite: those whose exponent bits are all ones. Compares integers, which
/// compilers turn into vector code.
template <class T>
std::uint64_t count_non_finite(std::span<const T> values) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const Bits exponent = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  std::uint64_t count = 0;
  for (const T value : values) count += (std::bit_cast<Bits>(value) & exponent) == exponent;
  return count;
}

template <class T>
std::vector<T> replace_non_finite(std::span<const T> values) {
  T ceiling = std::numeric_limits<T>::lowest();
  bool any_finite = false;
  for (const T value : values) {
    if (!std::isfinite(value)) continue;
    ceiling = std::max(ceiling, value);
    any_finite = true;
  }
  if (!any_finite) ceiling = 0;
  std::vector<T> finite(values.begin(), values.end());
  std::replace_if(
      finite.begin(), finite.end(), [](T value) { return !std::isfinite(value); }, ceiling);
  return finite;
}

}  // namespace

FiniteScores::FiniteScores(Scores scores) : view_(scores) {
  replaced_ = scores.visit([](auto values) { return count_non_finite(values); });
  if (replaced_ == 0) return;
  scores.visit([this]<class T>(std::span<const T> values) {
    view_ = copy_.emplace<std::vector<T>>(replace_non_finite(values));
  });
}

}  // namespace impart

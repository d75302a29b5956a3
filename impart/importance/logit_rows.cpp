#include "impart/importance/logit_rows.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "impart/core/vector_floats.h"

namespace impart::importance {
namespace {

/// Sums over the classes that are not the true one, e = exp(logit - largest).
struct OtherSums {
  float e = 0;
  float squares = 0;      ///< e²
  float differences = 0;  ///< e · (logit - largest)
};

/// The lanes in one number, by halves: op(a, b) joins two.
template <class Op>
IMPART_INLINE float fold(const Floats& vector, Op op) {
  float lanes[kLanes];
  store(lanes, vector);
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) lanes[lane] = op(lanes[lane], lanes[lane + half]);
  }
  return lanes[0];
}

IMPART_INLINE float sum_lanes(const Floats& vector) {
  return fold(vector, [](float a, float b) { return a + b; });
}

IMPART_VECTOR_CLONES
float largest_of(const float* values, std::size_t count) {
  constexpr std::size_t kWide = kLanes;
  float largest = -std::numeric_limits<float>::infinity();
  std::size_t i = 0;
  if (count >= kWide) {
    Floats best;
    load(best, values);
    for (i = kWide; i + kWide <= count; i += kWide) {
      Floats next;
      load(next, values + i);
      best = next > best ? next : best;
    }
    largest = fold(best, [](float a, float b) { return a > b ? a : b; });
  }
  for (; i < count; ++i) largest = values[i] > largest ? values[i] : largest;
  return largest;
}

/// From here on exponentials are ordinary floats.
constexpr float kLowest = -87.0f;

/// x := exp(x) for x from kLowest to 0, wrong by |x| ulp at most, which a sum of them does not
/// show: 2^(x · log₂ e), with a polynomial for the fraction. Two thirds of the work of
/// `exponentiate`. It may make anything of NaN.
IMPART_INLINE void exponentiate_nearly(Floats& x) {
  constexpr float kLog2E = 1.44269504088896341f;
  constexpr float kRounder = 12582912.0f;  // 1.5 · 2^23: adding it rounds to an integer
  const Floats shifted = x * kLog2E + kRounder;
  const Floats fraction = x * kLog2E - (shifted - kRounder);
  Floats y = fraction * 1.32647192e-3f + 9.67151392e-3f;
  y = y * fraction + 5.55073395e-2f;
  y = y * fraction + 2.40222424e-1f;
  y = y * fraction + 6.93147004e-1f;
  y = y * fraction + 1.0f;
  UnsignedWords power, bits;  // of NaN the sum may go round
  std::memcpy(&power, &shifted, sizeof power);
  std::memcpy(&bits, &y, sizeof bits);
  bits += power << 23;  // the integer is in the lowest bits
  std::memcpy(&x, &bits, sizeof x);
}

IMPART_INLINE void add_differences(Floats& difference, Floats& e_sum, Floats& square_sum,
                                   Floats& difference_sum) {
  // Where logits are minus infinity, too, e times the difference must be (nearly) nothing.
  difference = difference < kLowest ? Floats{} + kLowest : difference;
  Floats e = difference;
  exponentiate_nearly(e);
  e_sum += e;
  square_sum += e * e;
  difference_sum += e * difference;
}

IMPART_VECTOR_CLONES
void sum_others(const float* logits, std::size_t classes, std::size_t target, float largest,
                OtherSums& sums) {
  constexpr std::size_t kWide = kLanes;
  Floats e{}, squares{}, differences{};
  const std::size_t starts[] = {0, target + 1}, ends[] = {target, classes};
  for (int side = 0; side < 2; ++side) {  // the classes before the true one, those after it
    std::size_t i = starts[side];
    for (; i + kWide <= ends[side]; i += kWide) {
      Floats difference;
      load(difference, logits + i);
      difference -= largest;
      add_differences(difference, e, squares, differences);
    }
    if (i >= ends[side]) continue;
    float rest[kLanes];
    for (float& difference : rest) difference = kLowest;
    for (std::size_t lane = 0; i + lane < ends[side]; ++lane) {
      rest[lane] = logits[i + lane] - largest;
    }
    Floats difference;
    load(difference, rest);
    add_differences(difference, e, squares, differences);
  }
  sums = {sum_lanes(e), sum_lanes(squares), sum_lanes(differences)};
  if (std::isnan(sums.differences)) sums.e = sums.differences;
}

LogitRow look_at(const float* logits, std::size_t classes, std::size_t target) {
  const float own = logits[target];
  const std::size_t after = classes - target - 1;
  const float best_before = largest_of(logits, target);
  const float best_after = largest_of(logits + target + 1, after);
  const float best_other = std::max(best_before, best_after);
  const float largest = std::max(own, best_other);
  // Sums go over the other classes only, so that a probability near 1 keeps its difference to 1.
  OtherSums others;
  sum_others(logits, classes, target, largest, others);

  const float own_e = std::exp(own - largest);
  const float total = others.e + own_e;
  return {.own = own,
          .best_other = best_other,
          .largest = largest,
          .is_correct = own > best_before && own >= best_after,
          .own_e = own_e,
          .others_e = others.e,
          .total_e = total,
          .log_total = own == largest ? std::log1p(others.e) : std::log(total),
          .other_squares = others.squares,
          .differences = others.differences + (own_e > 0 ? own_e * (own - largest) : 0.0f)};
}

}  // namespace

PerSignal<double> signals_of_row(std::span<const float> logits, std::size_t target,
                                 std::span<const float> features) {
  LogitRow row = look_at(logits.data(), logits.size(), target);
  for (const float h : features) row.feature_squares += double{h} * double{h};
  PerSignal<double> values;
  const auto set = [&]<std::size_t kAt>() {
    constexpr SignalRow kRow = kSignals[kAt];
    if (kRow.made_from == MadeFrom::kFeatures && features.empty()) return;
    values[kRow.signal] = kRow.of_row(row);
  };
  [&]<std::size_t... kAt>(std::index_sequence<kAt...>) {
    (set.template operator()<kAt>(), ...);
  }
  (std::make_index_sequence<kSignalCount>());
  return values;
}

}  // namespace impart::importance

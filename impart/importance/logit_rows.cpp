#include "impart/importance/logit_rows.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "impart/core/vector_floats.h"

namespace impart {
namespace {

/// Sums over the classes that are not the true one, e = exp(logit - largest).
struct OtherSums {
  float e = 0;
  float squares = 0;      ///< e²
  float differences = 0;  ///< e · (logit - largest)
};

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
    for (int lane = 0; lane < kLanes; ++lane) largest = std::max(largest, best[lane]);
  }
  for (; i < count; ++i) largest = std::max(largest, values[i]);
  return largest;
}

IMPART_INLINE void add_differences(Floats& difference, Floats& e_sum, Floats& square_sum,
                                   Floats& difference_sum) {
  // Beyond this, e is 0; and 0 times minus infinity would not be.
  constexpr float kLowest = -100.0f;
  difference = difference < kLowest ? Floats{} + kLowest : difference;
  Floats e = difference;
  exponentiate(e);
  e_sum += e;
  square_sum += e * e;
  difference_sum += e * difference;
}

IMPART_VECTOR_CLONES
void sum_others(const float* values, std::size_t count, float largest, OtherSums& sums) {
  constexpr std::size_t kWide = kLanes;
  Floats e{}, squares{}, differences{};
  std::size_t i = 0;
  for (; i + kWide <= count; i += kWide) {
    Floats difference;
    load(difference, values + i);
    difference -= largest;
    add_differences(difference, e, squares, differences);
  }
  if (i < count) {
    Floats difference = Floats{} - 100.0f;
    for (std::size_t lane = 0; i + lane < count; ++lane) {
      difference[lane] = values[i + lane] - largest;
    }
    add_differences(difference, e, squares, differences);
  }
  sums.e = sum_of(e);
  sums.squares = sum_of(squares);
  sums.differences = sum_of(differences);
}

}  // namespace

RowSignals signals_of_row(const float* logits, std::size_t classes, std::size_t target,
                          float* scratch) {
  const float own = logits[target];
  const std::size_t after = classes - target - 1;
  const float best_before = largest_of(logits, target);
  const float best_after = largest_of(logits + target + 1, after);
  const float best_other = std::max(best_before, best_after);
  const float largest = std::max(own, best_other);
  // Sums go over the other classes only, so that a probability near 1 keeps its difference to 1.
  std::memcpy(scratch, logits, target * sizeof(float));
  std::memcpy(scratch + target, logits + target + 1, after * sizeof(float));
  OtherSums others;
  sum_others(scratch, classes - 1, largest, others);

  const float own_e = std::exp(own - largest);
  const float total = others.e + own_e;
  const float missing = others.e / total;
  RowSignals row;
  const float log_total = own == largest ? std::log1p(others.e) : std::log(total);
  row.loss = log_total + (largest - own);
  row.probability = own_e / total;
  row.correct = own > best_before && own >= best_after ? 1.0f : 0.0f;
  row.margin = own - best_other;
  const float own_difference = own_e > 0 ? own_e * (own - largest) : 0.0f;
  row.entropy = log_total - (others.differences + own_difference) / total;
  row.error_norm = std::sqrt(missing * missing + others.squares / (total * total));
  return row;
}

}  // namespace impart

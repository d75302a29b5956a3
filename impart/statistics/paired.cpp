#include "impart/statistics/paired.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/statistics/describe.h"

namespace impart::statistics {

std::vector<double> paired_differences(std::span<const double> arm,
                                       std::span<const double> baseline) {
  if (arm.size() != baseline.size()) {
    throw DataError(
        fmt::format("pairs need as many values of the arm as of the baseline, not {} "
                    "and {}",
                    arm.size(), baseline.size()));
  }
  require_finite(arm, "the arm");
  require_finite(baseline, "the baseline");
  double largest = 0;
  for (const double value : arm) largest = std::max(largest, std::abs(value));
  for (const double value : baseline) largest = std::max(largest, std::abs(value));
  const double grid = largest == 0 ? 1 : std::ldexp(1.0, std::ilogb(largest) - 40);
  std::vector<double> differences(arm.size());
  for (std::size_t i = 0; i < arm.size(); ++i) {
    differences[i] = std::nearbyint((arm[i] - baseline[i]) / grid) * grid;
  }
  return differences;
}

PairedComparison compare_pairs(std::span<const double> arm, std::span<const double> baseline,
                               const PairedSpec& spec) {
  const std::vector<double> differences = paired_differences(arm, baseline);
  const Description description = describe(differences);
  PairedComparison result{.n = description.n,
                          .mean_difference = description.mean,
                          .median_difference = description.median,
                          .std = description.std};
  if (result.n < 2) return result;
  IntervalSpec interval{.kind = IntervalKind::kStudent,
                        .confidence = spec.confidence,
                        .resamples = spec.resamples,
                        .seed = spec.seed};
  result.interval = mean_interval(differences, interval);
  interval.kind = IntervalKind::kBca;
  result.bca = mean_interval(differences, interval);
  result.sign_flip = sign_flip_test(differences, {.flips = spec.flips, .seed = spec.seed});
  result.wilcoxon = wilcoxon_test(differences);
  result.student_p = student_test(differences, spec.confidence).p;
  result.pairing = measure_pairing(arm, baseline);
  return result;
}

}  // namespace impart::statistics

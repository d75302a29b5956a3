#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "impart/statistics/interval.h"
#include "impart/statistics/sign_flip.h"
#include "impart/statistics/student.h"
#include "impart/statistics/variance.h"
#include "impart/statistics/wilcoxon.h"

namespace impart::statistics {

/// How differences of pairs are tested.
struct PairedSpec {
  double confidence = 0.95;          ///< of both intervals
  std::uint32_t resamples = 10'000;  ///< of the bootstrap
  std::uint32_t flips = 100'000;     ///< of the sign-flip test, where it is not exact
  std::uint64_t seed = 0;            ///< of bootstrap and flips: equal seeds, equal results
};

/// An arm and the baseline over the same seeds. A difference is arm minus baseline. All p-values
/// are two-sided and not corrected for the number of arms.
struct PairedComparison {
  std::size_t n = 0;  ///< pairs
  double mean_difference = 0;
  double median_difference = 0;
  double std = 0;  ///< of the differences; NaN for n = 1
  // One pair is no sample: with n = 1 nothing below is present.
  std::optional<Interval> interval = {};  ///< for the mean difference, Student's: the one to report
  std::optional<Interval> bca = {};  ///< the same by BCa bootstrap: too short below n = 40 or so
  std::optional<SignFlipTest> sign_flip = {};
  std::optional<WilcoxonTest> wilcoxon = {};
  std::optional<double> student_p =
      {};  ///< paired t-test; absent if the differences are all the same
  std::optional<Pairing> pairing = {};  ///< what it takes away of the variance
};

/// Compares value i of the arm with value i of the baseline. If all differences are 0, all p are 1
/// and both intervals [0, 0]. About 3 ms for n = 10, most of it the bootstrap. DataError if the
/// samples are empty, differ in size or hold a number that is not finite.
PairedComparison compare_pairs(std::span<const double> arm, std::span<const double> baseline,
                               const PairedSpec& spec = {});

/// arm[i] - baseline[i], rounded to 2^-40 of the largest value: 93.14 - 93.00 and 90.32 - 90.18 are
/// not the same in binary, but must be a tie for tests that rank or flip differences.
std::vector<double> paired_differences(std::span<const double> arm,
                                       std::span<const double> baseline);

}  // namespace impart::statistics

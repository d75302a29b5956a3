#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "impart/statistics/interval.h"

namespace impart::statistics {

/// What Student's t says about a difference of means. Where there is no spread to judge the
/// difference by (fewer than two values, or constant ones), `p` is absent: no claim is possible.
/// The one exception is no difference without spread: p = 1.
struct TTest {
  double difference = 0;                  ///< of the means
  double t = 0;                           ///< difference over its standard error; NaN without p
  double degrees = 0;                     ///< of freedom; NaN without p, or without spread
  std::optional<double> p = {};           ///< two-sided
  std::optional<Interval> interval = {};  ///< for the difference; present wherever p is
};

/// Welch's test: do two independent samples have the same mean? Their spreads and sizes may differ.
/// `difference` is mean(a) - mean(b). DataError if a sample is empty or a value not finite.
TTest welch_test(std::span<const double> a, std::span<const double> b, double confidence = 0.95);

/// Do the differences have mean 0? For pairs: the paired t-test. DataError as above.
TTest student_test(std::span<const double> differences, double confidence = 0.95);

}  // namespace impart::statistics

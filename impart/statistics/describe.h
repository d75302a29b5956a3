#pragma once

#include <cstddef>
#include <limits>
#include <span>

namespace impart::statistics {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A sample in eight numbers. Quartiles and the median interpolate linearly between the two nearest
/// ordered values (numpy's default, R's type 7).
struct Description {
  std::size_t n = 0;
  double mean = 0;
  double std = 0;  ///< divides by n - 1; NaN for n = 1
  double min = 0;
  double lower_quartile = 0;
  double median = 0;
  double upper_quartile = 0;
  double max = 0;
};

/// O(n log n). DataError if there are no values, or one of them is not finite: it names which.
Description describe(std::span<const double> values);

/// The mean: no less than the smallest value, no more than the largest. NaN without values.
double mean_of(std::span<const double> values);

/// The standard deviation, dividing by n - 1; NaN for fewer than two values, exactly 0 if all are
/// equal.
double std_of(std::span<const double> values);

/// The value below which a share q in [0, 1] lies, by linear interpolation. `sorted` must ascend
/// and not be empty; it may end with infinities, and the answer is infinite if it touches one.
double quantile_of_sorted(std::span<const double> sorted, double q);

/// DataError for the first value that is NaN or infinite: "value 3 of 10 of stripes is nan, ...".
/// `what` says whose values they are; it may be empty.
void require_finite(std::span<const double> values, const char* what = "");

}  // namespace impart::statistics

#include "impart/statistics/student.h"

#include <cmath>
#include <limits>

#include <boost/math/distributions/students_t.hpp>
#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/statistics/describe.h"

namespace impart::statistics {
namespace {

namespace bm = boost::math;

/// Spreads below this share of the values themselves are rounding.
constexpr double kRounding = 1e-13;

struct Difference {
  double value = 0;
  double error = 0;    ///< standard error
  double degrees = 0;  ///< of freedom
};

TTest without_spread(double difference) {
  TTest test{.difference = difference, .t = kNan, .degrees = kNan};
  if (difference != 0) return test;
  test.t = 0;
  test.p = 1;
  test.interval = Interval{0, 0};
  return test;
}

TTest judge(const Difference& d, double confidence) {
  const bm::students_t distribution(d.degrees);
  const double t = d.value / d.error;
  const double half = d.error * bm::quantile(bm::complement(distribution, (1 - confidence) / 2));
  return {.difference = d.value,
          .t = t,
          .degrees = d.degrees,
          .p = 2 * bm::cdf(bm::complement(distribution, std::abs(t))),
          .interval = Interval{d.value - half, d.value + half}};
}

void check(std::span<const double> values, double confidence) {
  if (!(confidence > 0 && confidence < 1)) {
    throw ConfigError(fmt::format("the confidence is {}, it must be between 0 and 1", confidence));
  }
  if (values.empty()) throw DataError("there are no values to test");
  require_finite(values);
}

}  // namespace

TTest welch_test(std::span<const double> a, std::span<const double> b, double confidence) {
  check(a, confidence);
  check(b, confidence);
  const double difference = mean_of(a) - mean_of(b);
  if (a.size() < 2 || b.size() < 2) {
    return {.difference = difference, .t = kNan, .degrees = kNan};
  }
  const double error_a = std_of(a) / std::sqrt(static_cast<double>(a.size()));
  const double error_b = std_of(b) / std::sqrt(static_cast<double>(b.size()));
  const double error = std::hypot(error_a, error_b);
  if (error <= kRounding * (std::abs(mean_of(a)) + std::abs(mean_of(b)))) {
    return without_spread(difference);
  }
  const double share_a = std::pow(error_a / error, 4) / static_cast<double>(a.size() - 1);
  const double share_b = std::pow(error_b / error, 4) / static_cast<double>(b.size() - 1);
  return judge({difference, error, 1 / (share_a + share_b)}, confidence);
}

TTest student_test(std::span<const double> differences, double confidence) {
  check(differences, confidence);
  const double mean = mean_of(differences);
  const auto n = static_cast<double>(differences.size());
  if (differences.size() < 2) {
    return {.difference = mean, .t = kNan, .degrees = kNan};
  }
  const double error = std_of(differences) / std::sqrt(n);
  if (error <= kRounding * std::abs(mean)) return without_spread(mean);
  return judge({mean, error, n - 1}, confidence);
}

}  // namespace impart::statistics

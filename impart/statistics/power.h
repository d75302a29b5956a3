#pragma once

#include <cstdint>
#include <optional>

namespace impart::statistics {

/// What a test is asked to do.
struct PowerSpec {
  double power = 0.8;      ///< chance of seeing a real difference
  double alpha = 0.05;     ///< chance of seeing one that is not there, over all arms
  std::uint32_t arms = 1;  ///< tested together: each gets alpha / arms (Bonferroni, which Holm
                           ///< is never worse than)
};

/// The chance that a two-sided t-test of n pairs sees a mean difference of `effect` standard
/// deviations of the differences: noncentral t. n >= 2, or ConfigError.
double paired_power(std::uint64_t pairs, double effect, const PowerSpec& spec = {});

/// The smallest mean difference that n pairs, whose differences have this standard deviation, show
/// with the power of `spec`. In the unit of `std`; 0 if std is 0. n >= 2, or ConfigError.
double detectable_difference(std::uint64_t pairs, double std, const PowerSpec& spec = {});

/// The same for Welch's test of two samples with these sizes (2 or more) and standard deviations.
struct TwoSamples {
  std::uint64_t n_a = 0;
  std::uint64_t n_b = 0;
  double std_a = 0;
  double std_b = 0;
};
double detectable_difference(const TwoSamples& samples, const PowerSpec& spec = {});

/// How many pairs (seeds) it takes to show a mean difference of `difference` with the power of
/// `spec`; at least 2. Absent if there is no such number up to a million: the difference is 0, or
/// tiny.
std::optional<std::uint64_t> pairs_needed(double difference, double std,
                                          const PowerSpec& spec = {});

}  // namespace impart::statistics

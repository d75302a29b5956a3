#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "impart/statistics/comparison.h"
#include "impart/statistics/power.h"

namespace impart::statistics {

/// With fewer pairs their standard deviation says nothing about how many seeds are needed.
inline constexpr std::size_t kFewestPairs = 3;

/// How well the standard deviation must be covered for ArmPower::needed_at_worst.
inline constexpr double kWorstCase = 0.9;

/// What a difference between an arm and the baseline takes to be seen, by the pairs so far.
struct ArmPower {
  std::string name;
  std::size_t pairs = 0;
  /// Of the paired differences. Absent, as all that follows, with fewer than kFewestPairs.
  std::optional<double> std = {};
  std::optional<double> detectable = {};     ///< smallest difference that these pairs show
  std::optional<std::uint64_t> needed = {};  ///< pairs; absent if a million are too few
  /// The same if the standard deviation is as large as its upper limit with 90 % confidence.
  std::optional<std::uint64_t> needed_at_worst = {};
};

/// What `difference` (not 0) takes to be seen with the power of `spec`, arm by arm. Each test gets
/// spec.alpha / spec.arms. DataError for values that are not finite.
std::vector<ArmPower> seeds_needed(const ArmRuns& baseline, std::span<const ArmRuns> arms,
                                   double difference, const PowerSpec& spec);

/// The upper limit of a standard deviation that `n` normal values (2 or more) showed as `std`.
double largest_std(double std, std::size_t n, double confidence);

}  // namespace impart::statistics

#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace impart::train {

/// Looks for passes that a GPU has the memory for.
struct FittingRows {
  std::int64_t wanted = 0;    ///< examples in the largest pass of a step
  std::int64_t smallest = 0;  ///< examples that cannot be parted: those of a worker, for batch norm
  /// Tries a step with passes of so many examples at most; whether it fits.
  std::function<bool(std::int64_t rows)> fits;
};

/// What was found.
struct FoundRows {
  std::int64_t rows = 0;  ///< that fit
  std::string reason;     ///< for people, if they are fewer than wanted
};

/// `wanted`, or a half, a quarter, … of it, down to `smallest`: the first that fits. ConfigError,
/// with what is missing, if none does.
FoundRows find_fitting_rows(const FittingRows& search);

}  // namespace impart::train

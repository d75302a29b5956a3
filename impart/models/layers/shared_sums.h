#pragma once

#include <cstdint>
#include <span>

namespace impart::models {

/// How batch norm gets the sums of rows that are not in the batch at hand but share its statistics:
/// rows of other processes, or of workers that take their turns.
class SharedSums {
 public:
  virtual ~SharedSums() = default;

  /// Replaces each row of `sums`, [groups, width], by its sum over all batches of the step that
  /// have rows of the group.
  /// Collective: every process calls it, in the same order.
  virtual void add_up(std::span<double> sums, std::int64_t width) = 0;
};

}  // namespace impart::models

#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "impart/data/payloads/batch_reader.h"

namespace impart::data {

/// A row that could not be read.
struct FailedRow {
  std::size_t row = 0;     ///< in its batch
  std::string reason;      ///< of a bad example
  std::exception_ptr why;  ///< what was thrown
  bool is_bad_example = false;
};

/// One batch on its way: which of its rows nobody has begun yet, which were not ready when last
/// looked at, which are done.
struct BatchSlot {
  std::span<const BatchRow> rows = {};
  std::span<std::uint8_t> pixels = {};
  std::vector<std::uint8_t> valid = {};
  std::vector<FailedRow> failures = {};
  std::vector<std::size_t> unready = {}, arrived = {};  ///< rows that have become ready
  std::size_t fresh = 0;                                ///< rows from here on were not looked at
  std::size_t left = 0;                                 ///< rows that are not done
  bool had_unready = false;                             ///< so far

  /// Makes it the slot of a batch of which nothing is done.
  void open(std::span<const BatchRow> batch_rows, std::span<std::uint8_t> batch_pixels);

  std::span<std::uint8_t> image(std::size_t row) const {
    const std::size_t bytes = pixels.size() / rows.size();
    return pixels.subspan(row * bytes, bytes);
  }

  /// Moves up to `most` rows that can be begun into `taken`.
  void take(std::size_t most, std::vector<std::size_t>& taken);
};

/// What a reader promises about failures, once a batch is done: throws that of the first row, or
/// with kSkip puts copies in the place of bad examples and says which they are.
std::vector<SkippedExample> settle_failures(BatchSlot& slot, OnBadExample on_bad_example);

}  // namespace impart::data

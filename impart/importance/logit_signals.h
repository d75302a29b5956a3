#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "impart/importance/signals.h"

namespace impart::importance {

/// A target that does not count, in blocks of tokens.
inline constexpr std::int64_t kIgnoredTarget = -100;

/// What a forward pass gave for a batch, as rows of plain numbers. An example has one row, or in a
/// block of tokens one row for each token.
struct ForwardRows {
  std::span<const float> logits = {};  ///< [rows, classes]
  std::size_t classes = 0;
  std::span<const std::int64_t> targets = {};  ///< class of each row, or kIgnoredTarget
  std::size_t rows_per_example = 0;            ///< 0: one, and every target counts
  /// Losses of the examples that training used; empty: the cross entropy of the logits.
  std::span<const float> losses = {};
  std::span<const float> features = {};  ///< [rows, width]: the last layer's input
};

/// The signals that a table with these needs takes, in the order of kSignals.
std::vector<Signal> signals_for(StateSet needs);

/// The signals of a batch, [signals_for(needs), examples], as signals.h defines them: means over
/// the rows of an example that count; of blocks, the probability is exp(-loss). Logits are read
/// once; about 1 ns per logit. DataError if a needed input is missing, lengths do not fit, or a
/// target is not a class.
std::vector<float> signals_of_logits(const ForwardRows& batch, StateSet needs);

}  // namespace impart::importance

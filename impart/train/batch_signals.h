#pragma once

#include <cstdint>
#include <vector>

#include <torch/types.h>

#include "impart/importance/importance_table.h"
#include "impart/models/classifier.h"
#include "impart/models/losses.h"

namespace impart::train {

/// Which signals a run collects: the rows of kSignals that its importance table needs, and always
/// the loss and whether the prediction was right, for the metrics.
class SignalSet {
 public:
  explicit SignalSet(const std::vector<importance::AnyNotion>& notions);

  std::int64_t size() const { return static_cast<std::int64_t>(rows_.size()); }
  /// What the rows of `compute` are.
  const std::vector<importance::Signal>& rows() const { return rows_; }

  /// The signals of a batch, [size(), B], from its forward pass and its losses. `targets`
  /// is [B], or of blocks of tokens [B, T] with kNoTarget where nothing counts; then signals are
  /// means over the tokens that count, and the probability is exp(-loss). On the device, without
  /// gradients, without waiting.
  torch::Tensor compute(const models::Classifier::Output& output, const torch::Tensor& targets,
                        const models::MeasuredLosses& losses) const;

  /// Rows collected by `compute`, one after the other in `values` ([size(), rows]), as the table
  /// takes them.
  importance::Signals view(std::span<const float> values, std::size_t rows) const;

  /// The row of `compute` that holds the loss, and that holds correctness.
  static constexpr std::int64_t kLossRow = 0, kCorrectRow = 1;

 private:
  torch::Tensor compute_rows(const models::Classifier::Output& output,
                             const torch::Tensor& labels) const;
  torch::Tensor compute_blocks(const models::Classifier::Output& output,
                               const torch::Tensor& targets) const;
  torch::Tensor arrange(const models::TokenMeasures& tokens,
                        const models::Classifier::Output& output,
                        const torch::Tensor& targets) const;

  std::vector<importance::Signal> rows_;
};

}  // namespace impart::train

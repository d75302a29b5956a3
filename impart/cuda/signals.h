#pragma once

#include <cstddef>
#include <cstdint>

#include "impart/cuda/device.h"

namespace impart::cuda {

/// The signals (impart/importance/signals.h), in the order in which `measure_signals` knows them.
enum class Signal { kLoss, kProbability, kCorrect, kMargin, kEntropy, kErrorNorm, kGradientBound };
inline constexpr std::size_t kSignalCount = 7;

/// Cross entropy of a batch, its gradient, and the signals of its examples, in one launch. A warp
/// takes a row; of equal largest logits the first counts as the prediction.
struct MeasureSignals {
  const float* logits = nullptr;  ///< [rows, classes]
  std::int64_t rows = 0, classes = 0;
  const float* features = nullptr;  ///< [rows, feature_count]; only for the gradient bound
  std::int64_t feature_count = 0;
  const std::int64_t* labels = nullptr;  ///< [N]
  const std::int64_t* ids = nullptr;     ///< of the rows, as in GatherImages; null: 0, 1, 2, ...
  const StepState* step = nullptr;
  /// Signal s of row b goes to out[places[s] * stride + first_row + b]; not wanted if negative.
  float* out = nullptr;
  std::int64_t stride = 0;
  int places[kSignalCount] = {-1, -1, -1, -1, -1, -1, -1};
  /// (p - (1 - smoothing) · onehot(y) - smoothing / classes) · step->loss_scale; may be null.
  float* grad_logits = nullptr;
  float smoothing = 0;
};

void measure_signals(const MeasureSignals& measure, Stream stream);

}  // namespace impart::cuda

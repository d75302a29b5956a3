#pragma once

#include <cstdint>

#include "impart/cuda/device.h"
#include "impart/importance/signals.h"

namespace impart::cuda {

/// Which row of an array each signal goes to; negative: it is not wanted.
struct SignalPlaces {
  int rows[importance::kSignalCount];

  constexpr SignalPlaces() : rows() {
    for (int& row : rows) row = -1;
  }
  constexpr void set(importance::Signal signal, std::int64_t row) {
    rows[importance::index(signal)] = static_cast<int>(row);
  }
};

/// Where signals go: signal s of row b to out[places.rows[s] * stride + b].
struct SignalRows {
  float* out = nullptr;  ///< null: none are wanted
  std::int64_t stride = 0;
  SignalPlaces places = {};
};

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
  SignalRows signals = {};         ///< rows count from the step's first_row
  const float* weights = nullptr;  ///< of the rows, as ids; null: 1. Signals do not know of them
  /// (p - (1 - smoothing) · onehot(y) - smoothing / classes) · weight · step->loss_scale; may be
  /// null.
  float* grad_logits = nullptr;
  float smoothing = 0;
};

void measure_signals(const MeasureSignals& measure, Stream stream);

}  // namespace impart::cuda

#pragma once

#include <cstddef>
#include <cstdint>

#include "impart/cuda/signals.h"

namespace impart::cuda {

/// What a look at a row of logits found, for the thread that writes its signals.
struct RowLook {
  float own;       ///< logit of the true class
  float other;     ///< largest of the others
  float largest;   ///< of all
  float sum;       ///< of exp(x - largest)
  float weighted;  ///< of exp(x - largest) · (x - largest)
  float log_sum;   ///< of sum
  float error_norm;
  float feature_squares;
  bool is_correct;

  __device__ float loss() const { return log_sum - (own - largest); }
};

/// The signals of a row, as impart/importance/signals.h defines them.
__device__ inline float signal_of(const RowLook& row, importance::Signal signal) {
  using importance::Signal;
  switch (signal) {
    case Signal::kLoss:
      return row.loss();
    case Signal::kProbability:
      return expf(-row.loss());
    case Signal::kCorrect:
      return row.is_correct ? 1.f : 0.f;
    case Signal::kMargin:
      return row.own - row.other;
    case Signal::kEntropy:
      return row.log_sum - row.weighted / row.sum;
    case Signal::kErrorNorm:
      return row.error_norm;
    case Signal::kGradientBound:
      return row.error_norm * sqrtf(1 + row.feature_squares);
  }
  return 0;
}

/// Writes the wanted signals of row `at`; zeros if the row does not count.
__device__ inline void write_signals(const SignalRows& rows, std::int64_t at, const RowLook& row,
                                     bool counts = true) {
#pragma unroll
  for (std::size_t s = 0; s < importance::kSignalCount; ++s) {
    const int place = rows.places.rows[s];
    if (place < 0) continue;
    const float value = signal_of(row, static_cast<importance::Signal>(s));
    rows.out[place * rows.stride + at] = counts ? value : 0;
  }
}

}  // namespace impart::cuda

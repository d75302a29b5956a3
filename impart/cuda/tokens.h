#pragma once

#include <cstdint>

#include "impart/cuda/device.h"
#include "impart/cuda/signals.h"

namespace impart::cuda {

/// Rows of logits over a vocabulary, and the class that is right in each.
struct TokenRows {
  const void* logits = nullptr;  ///< [rows, classes]
  Element element = Element::kFloat;
  std::int64_t rows = 0, classes = 0;
  const std::int64_t* labels = nullptr;  ///< [rows]; negative: the row does not count
};

/// Cross entropy of every row and what else the same look at its logits tells; the logits are read
/// once. Of equal largest logits the first counts as the prediction. Rows that do not count get
/// zeros.
struct MeasureTokens {
  TokenRows tokens = {};
  /// [rows] each. The logarithm of the sum of exponentials is for the way back.
  float *loss = nullptr, *log_sum = nullptr;
  /// Those made from logits alone (MadeFrom::kLogits); they cost arithmetic.
  SignalRows signals = {};
};
void measure_tokens(const MeasureTokens& measure, Stream stream);

/// The gradient of Σ scale[row] · loss[row] by the logits: (p - onehot(y)) · scale.
struct DifferentiateTokens {
  TokenRows tokens = {};
  const float* log_sum = nullptr;  ///< [rows], of measure_tokens
  const float* scale = nullptr;    ///< [rows]
  void* gradient = nullptr;        ///< as the logits
};
void differentiate_tokens(const DifferentiateTokens& differentiate, Stream stream);

}  // namespace impart::cuda

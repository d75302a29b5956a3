#pragma once

#include <cstddef>

namespace impart::importance {

/// What one row of logits says about its true class.
struct RowSignals {
  float loss = 0;         ///< cross entropy
  float probability = 0;  ///< of the true class
  float correct = 0;
  float margin = 0;
  float entropy = 0;
  float error_norm = 0;
};

/// NaN and plus infinity among the logits give NaN or infinite signals.
RowSignals signals_of_row(const float* logits, std::size_t classes, std::size_t target);

}  // namespace impart::importance

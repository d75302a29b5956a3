#pragma once

#include <torch/types.h>

#include "impart/importance/signals.h"

namespace impart::models {

/// Whether device_token_losses can be called with these logits: on a GPU, in a build with kernels.
bool has_device_losses(const torch::Tensor& logits);

/// What one look at the logits of tokens tells, [N] each.
struct TokenMeasures {
  torch::Tensor losses = {};                          ///< with a gradient for the logits
  importance::PerSignal<torch::Tensor> signals = {};  ///< those made from logits alone
};

/// Of logits [N, V], float or bfloat16, and targets [N]; 0 where there is no target (kNoTarget, or
/// anything negative). Reads the logits once, and once more on the way back, which makes one tensor
/// as large. Without `all`, only the losses.
TokenMeasures device_token_losses(const torch::Tensor& logits, const torch::Tensor& targets,
                                  bool all);

}  // namespace impart::models

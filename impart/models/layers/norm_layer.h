#pragma once

#include <cstdint>
#include <memory>

#include <torch/nn/module.h>
#include <torch/types.h>

#include "impart/config/model_names.h"

namespace impart::models {

/// What follows a norm: y = pool(relu(normalised + residual)), as far as it is wanted.
struct NormTail {
  bool relu = false;
  torch::Tensor residual = {};  ///< like the input, or undefined
  bool pool = false;  ///< max-pooling of 3×3 pixels, stride 2, border 1; with relu, no residual
};

/// One tensor, to be used in two places. On a GPU each use gives a gradient of its own, which the
/// layer adds up where it reads them.
struct TensorFork {
  torch::Tensor first, second;
};

/// A layer that normalises images, [B, C, H, W], per channel or group of channels, and scales and
/// shifts each channel by its parameters `weight` and `bias`, [C].
class NormLayer : public torch::nn::Module {
 public:
  torch::Tensor forward(const torch::Tensor& input, const NormTail& tail = {}) {
    return forward_twice(input, tail).first;
  }
  virtual TensorFork forward_twice(const torch::Tensor& input, const NormTail& tail) = 0;
};

/// A tail by torch's own operations; changes `normalised`.
torch::Tensor apply_tail(torch::Tensor normalised, const NormTail& tail);

/// The layer that `model.norm` names, with the usual settings.
std::shared_ptr<NormLayer> make_norm(config::Norm norm, std::int64_t channels);

}  // namespace impart::models

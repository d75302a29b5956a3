#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

namespace impart {

/// A model that gives every image of a batch one number per class.
class Classifier : public torch::nn::Module {
 public:
  struct Output {
    torch::Tensor logits;    ///< [B, classes]
    torch::Tensor features;  ///< [B, F]: what goes into the last linear layer
  };

  /// `images` is [B, channels, height, width], in the model's type and on its device.
  virtual Output forward(torch::Tensor images) = 0;
};

}  // namespace impart

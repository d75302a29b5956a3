#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

namespace impart::models {

/// A model that gives every example of a batch one number per class: an image or a text one class,
/// a block of tokens one class, the next token, at every position.
class Classifier : public torch::nn::Module {
 public:
  /// What a forward pass gives.
  struct Output {
    torch::Tensor logits;    ///< [B, classes]; of language models [B, T, vocabulary]
    torch::Tensor features;  ///< [B, F] or [B, T, F]: what goes into the last linear layer
  };

  /// `inputs` is on the model's device: images, [B, channels, height, width], in the model's type,
  /// or token ids, [B, T], int64.
  virtual Output forward(torch::Tensor inputs) = 0;
};

}  // namespace impart::models

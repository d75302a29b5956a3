#pragma once

#include <vector>

#include <torch/nn/module.h>
#include <torch/types.h>

#include "impart/train/update/flat_parameters.h"

namespace impart::train {

/// bfloat16 copies of parameters that a model computes with (`precision: bf16`), in one array as
/// long as the float weights: of convolutions, and of all layers of transformers. Everything else
/// of the model stays float: batch norms, the last layer of classifiers, and the weights that the
/// optimiser changes.
class HalfWeights {
 public:
  /// Gives the model's layers (ComputesInHalf) their copies. `parameters` must be those of the
  /// model.
  HalfWeights(torch::nn::Module& model, FlatParameters& parameters);

  /// Makes the model's copies views of another array like values(), which becomes values().
  void use(const torch::Tensor& values);
  /// Copies the float weights, after they have changed.
  void refresh();
  /// After a backward pass: adds the gradients of the copies to those of the float weights, and
  /// forgets them.
  void collect_gradients();

  /// The copy of a parameter of `parameters`, by its position there; undefined if it has none.
  const torch::Tensor& copy_of(std::size_t slice) const { return copies_[slice]; }
  /// All copies, as long as the float weights; what has no copy is unused.
  torch::Tensor& values() { return values_; }

 private:
  FlatParameters& parameters_;
  torch::Tensor values_;
  std::vector<torch::Tensor> copies_;
};

}  // namespace impart::train

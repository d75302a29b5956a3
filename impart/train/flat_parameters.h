#pragma once

#include <cstdint>
#include <vector>

#include <torch/nn/module.h>
#include <torch/types.h>

namespace impart {

/// All parameters of a model in one float array, and their gradients in another, so that an
/// optimiser step, an all-reduce or a copy is one pass over contiguous memory. The model's own
/// tensors become views of these arrays; backward passes add to the gradients in place.
class FlatParameters {
 public:
  /// Takes over the parameters of a model, in the order of named_parameters(). The model must not
  /// be moved to another device afterwards.
  explicit FlatParameters(torch::nn::Module& model);

  torch::Tensor& values() { return values_; }
  torch::Tensor& gradients() { return gradients_; }

  /// A parameter and where it stands in the arrays.
  struct Slice {
    torch::Tensor parameter;
    std::int64_t start;
    std::int64_t size;
  };
  const std::vector<Slice>& slices() const { return slices_; }

 private:
  torch::Tensor values_;
  torch::Tensor gradients_;
  std::vector<Slice> slices_;
};

}  // namespace impart

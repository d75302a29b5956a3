#pragma once

#include <cstdint>
#include <vector>

#include <torch/nn/module.h>
#include <torch/types.h>

namespace impart::train {

/// All parameters of a model in one float array, and their gradients in another, so that an
/// optimiser step, an all-reduce or a copy is one pass over contiguous memory. The model's own
/// tensors become views of these arrays; backward passes add to the gradients in place.
///
/// Off the CPU the weights of convolutions have channels last, as the fast kernels want them: there
/// the arrays are in another order than on the CPU.
class FlatParameters {
 public:
  /// Takes over the parameters of a model, in the order of named_parameters(). The model must not
  /// be moved to another device afterwards.
  explicit FlatParameters(torch::nn::Module& model);

  torch::Tensor& values() { return values_; }
  /// Makes the model's tensors views of another array like values(), which becomes values().
  /// Nothing is copied.
  void use(const torch::Tensor& values);
  torch::Tensor& gradients() { return gradients_; }

  /// A parameter and where it stands in the arrays.
  struct Slice {
    torch::Tensor parameter;
    std::int64_t start;
    std::int64_t size;
  };
  const std::vector<Slice>& slices() const { return slices_; }

  /// A slice of an array like values(), with the parameter's shape.
  static torch::Tensor view_of(const Slice& slice, const torch::Tensor& flat);
  /// Makes the model's gradients views of gradients() again, after they were replaced.
  void attach_gradients();

  /// An array like values() as a new one on the CPU, in the order that it has there; and the
  /// reverse: `flat` gets what such an array holds.
  torch::Tensor to_cpu_order(const torch::Tensor& flat) const;
  void copy_from_cpu_order(const torch::Tensor& ordered, torch::Tensor flat) const;

 private:
  torch::Tensor values_;
  torch::Tensor gradients_;
  std::vector<Slice> slices_;
};

}  // namespace impart::train

#pragma once

#include <torch/types.h>

namespace impart::models {

/// A trunk with a branch added to it, and that sum normalised over its last dimension.
struct NormedSum {
  torch::Tensor sum, normed;
};

/// Whether add_and_norm_on_device takes them.
bool has_device_layer_norm(const torch::Tensor& trunk, const torch::Tensor& branch,
                           const torch::Tensor& weight);

/// In one launch, and two on the way back. An undefined branch: the sum is the trunk. Weight and
/// bias, [width], are of the type of the rows.
NormedSum add_and_norm_on_device(const torch::Tensor& trunk, const torch::Tensor& branch,
                                 const torch::Tensor& weight, const torch::Tensor& bias,
                                 double epsilon);

}  // namespace impart::models

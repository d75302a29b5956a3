#pragma once

#include <cstdint>

#include <torch/types.h>

#include "impart/models/layers/norm_layer.h"

namespace impart::models {

/// How many groups `model.norm: group` makes of so many channels: 32, and where there are fewer
/// than 64 channels, or 32 does not divide them, the most that divide 32 and leave two channels or
/// more to each; one for an odd number of channels.
std::int64_t count_groups(std::int64_t channels);

/// Group norm (Wu, He, 2018): the channels of each group are normalised with the mean and variance
/// of the image at hand. It keeps no statistics, does the same in training and evaluation, and does
/// not notice whose images are whose. Parameters are called what torch::nn::GroupNorm calls them.
///
/// By LibTorch's own kernels on every device. They want channels first, so on a GPU, where all else
/// has them last, images are turned there and back. Beside bfloat16 images the parameters are
/// rounded to that for the pass on a GPU; the CPU normalises such images in floats.
class GroupNormImpl : public NormLayer {
 public:
  explicit GroupNormImpl(std::int64_t channels);

  TensorFork forward_twice(const torch::Tensor& input, const NormTail& tail) override;

  torch::Tensor weight, bias;
};

}  // namespace impart::models

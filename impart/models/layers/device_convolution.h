#pragma once

#include <torch/types.h>

#include "impart/models/layers/layers.h"
#include "impart/tensors/torch_stream.h"

namespace impart::models {

/// Convolution on a GPU, differentiable by images and weight. Two shapes get a way of their own:
///   7×7 of stride 2 over few channels, in bfloat16   folded (impart/cuda/fold.h)
///   3×3 over images of one pixel                     a matrix product with the middle tap: the
///                                                    others would only multiply the border
/// The gradient of the weight is computed on the side stream, beside the rest of the backward pass,
/// and not passed on but stored as `weight.grad`; it is ready after the stream's join.
torch::Tensor convolve_on_device(const torch::Tensor& images, const torch::Tensor& weight,
                                 const ConvolutionSpec& spec, tensors::SideStream& side);

}  // namespace impart::models

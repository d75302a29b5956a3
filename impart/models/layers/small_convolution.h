#pragma once

#include <torch/types.h>

#include "impart/models/layers/layers.h"

namespace impart::models {

/// Convolution of 3×3 over images of at most 2×2 pixels, as the last ones of networks for large
/// images become. A library that slides windows mostly multiplies the border there; but every pixel
/// of the result sees every pixel of the image through one tap of the weight, so that it is one
/// matrix product, of [B, pixels × in] and [pixels × in, pixels × out].
bool is_small_convolution(const torch::Tensor& images, const ConvolutionSpec& spec);

/// Differentiable (once) by images, channels last, and weight, [out, in, 3, 3].
torch::Tensor convolve_small(const torch::Tensor& images, const torch::Tensor& weight,
                             const ConvolutionSpec& spec);

}  // namespace impart::models

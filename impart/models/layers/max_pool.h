#pragma once

#include <cstdint>

#include <torch/types.h>

namespace impart::models {

/// Max-pooling of `window`×`window` pixels side by side, of [B, C, H, W]. On a GPU in kernels of
/// ours (impart/cuda/pool.h), which note a byte for each maximum where torch notes eight.
torch::Tensor max_pool(const torch::Tensor& images, std::int64_t window);

}  // namespace impart::models

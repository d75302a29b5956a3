#pragma once

#include <cstdint>

#include <torch/types.h>

#include "impart/models/layers/worker_batch_norm.h"

namespace impart::models {

/// Batch norm by the kernels of impart/models/kernels/batch_norm_kernel.h: floats on the CPU, in
/// one pass over all workers; in two where statistics are shared with other passes
/// (WorkerLayout::shared). Differentiable (once) by input, weight and bias.
NormalisedBatch normalise_on_cpu(const torch::Tensor& input, const torch::Tensor& weight,
                                 const torch::Tensor& bias, const WorkerLayout& layout,
                                 double epsilon);

/// Height × width of images, [B, C, H, W]; 1 for [B, C].
std::int64_t pixels_of(const torch::Tensor& input);

}  // namespace impart::models

#pragma once

#include <torch/types.h>

#include "impart/models/layers/norm_layer.h"
#include "impart/models/layers/worker_batch_norm.h"

namespace impart::models {

/// Batch norm of bfloat16 images on the CPU, [B, C] or [B, C, H, W], with its tail, by the kernels
/// of impart/models/kernels/half_norm_kernel.h. Channels lie last, in what it takes and gives;
/// parameters and statistics are float.
bool has_half_batch_norm(const torch::Tensor& input);

struct HalfBatchNormSpec {
  torch::Tensor weight, bias;  ///< float, [C]
  double epsilon = 1e-5;
  NormTail tail = {};
};

/// What a batch became, for two uses, and what it was normalised with.
struct HalfNormalisedBatch {
  TensorFork output;
  BatchMoments moments;
};

/// Each worker's rows with the worker's own moments, or with those it shares with other passes
/// (WorkerLayout::shared). Differentiable (once) by input, weight, bias and residual. The bits do
/// not depend on the number of threads.
HalfNormalisedBatch normalise_half_workers(const torch::Tensor& input, const WorkerLayout& layout,
                                           const HalfBatchNormSpec& spec);

/// All rows with given moments, [C]; without gradients.
torch::Tensor normalise_half_with(const torch::Tensor& input, const BatchMoments& moments,
                                  const HalfBatchNormSpec& spec);

}  // namespace impart::models

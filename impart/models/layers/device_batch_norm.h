#pragma once

#include <torch/types.h>

#include "impart/models/layers/worker_batch_norm.h"

namespace impart::models {

/// Batch norm by the kernels of impart/cuda/batch_norm.h, as differentiable functions of tensors.

/// Whether they can take this input: [B, C] or [B, C, H, W] on a GPU, float or bfloat16, channels
/// in whole packs, in a build with CUDA.
bool has_device_batch_norm(const torch::Tensor& input);

struct DeviceBatchNormSpec {
  torch::Tensor weight, bias;  ///< float [C]
  /// Float: [workers, C] for normalise_workers, which moves them, or undefined; [C] for
  /// normalise_with_running.
  torch::Tensor running_mean, running_variance;
  torch::Tensor batches = {};  ///< int64: how many batches there were; may be undefined
  double epsilon = 1e-5, momentum = 0.1;
  NormTail tail = {};
};

/// Each worker's rows with the worker's own moments; differentiable by input, weight, bias and
/// residual. The layout must fit the input.
TensorFork normalise_workers(const torch::Tensor& input, const WorkerLayout& layout,
                             const DeviceBatchNormSpec& spec);

/// All rows with the running statistics. Not differentiable.
torch::Tensor normalise_with_running(const torch::Tensor& input, const DeviceBatchNormSpec& spec);

}  // namespace impart::models

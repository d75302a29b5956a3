#pragma once

#include <vector>

#include <torch/types.h>

#include "impart/config/config.h"

namespace impart::train {

/// SGD with momentum, or AdamW, over all parameters at once, as torch.optim defines them. The state
/// is tensors as long as the parameters, so that it can be saved, copied and restored.
class Optimizer {
 public:
  /// For parameters like `values`: their number, type and device.
  Optimizer(const config::OptimizerConfig& config, const torch::Tensor& values);

  /// One with the same state in memory of its own.
  Optimizer clone() const;

  /// Changes `values` by one step against `gradients`. If the config says so, a gradient that is
  /// longer than clip_norm is first shortened to it, in place.
  void step(torch::Tensor& values, torch::Tensor& gradients, double learning_rate);

  /// Momentum for SGD; first and second moments for AdamW.
  std::vector<torch::Tensor>& state() { return state_; }
  std::int64_t steps() const { return steps_; }
  void set_steps(std::int64_t steps) { steps_ = steps; }

 private:
  config::OptimizerConfig config_;
  std::vector<torch::Tensor> state_;
  std::int64_t steps_ = 0;
};

}  // namespace impart::train

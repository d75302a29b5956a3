#pragma once

#include <cstdint>
#include <vector>

#include <torch/types.h>

#include "impart/train/steps/step.h"

namespace impart::train {

/// The weights of workers that train apart, of those that this process hosts: one array [hosted,
/// parameters], and beside it each worker's optimiser and, for `precision: bf16`, its bfloat16
/// copies. The model computes with whose weights it is told to; nothing is copied for it.
///
/// Common weights are those that the model has outside of steps: the last ones all workers agreed
/// on.
class Replicas {
 public:
  /// All start from the model's weights and the optimiser of the context.
  explicit Replicas(const StepContext& context);

  std::uint32_t count() const { return context_.hosted.count; }
  /// [hosted, parameters]
  torch::Tensor& values() { return values_; }
  torch::Tensor& common() { return common_; }
  Optimizer& optimizer(std::uint32_t worker) { return optimizers_[worker]; }

  /// Lets the model compute with the weights of a hosted worker, or with the common ones.
  void use(std::uint32_t worker);
  void use_common();
  /// With weights from elsewhere, until another is used.
  void use_foreign(const torch::Tensor& values);
  /// After the values of all, or the common ones, were changed from outside.
  void refresh_halves();

  /// As Step has them.
  void gather_state(NamedTensors& state);
  void restore_state(const FindTensor& find);

  /// One row for each worker of the run in the order of the CPU, from an array like values().
  /// Collective: every process calls it, in the same order.
  torch::Tensor gather(const torch::Tensor& rows) const;
  /// The reverse: `rows` gets those of the hosted workers.
  void scatter(const torch::Tensor& all, torch::Tensor& rows) const;

 private:
  StepContext context_;
  torch::Tensor values_, common_;
  torch::Tensor halves_, common_halves_;  ///< undefined: the model computes in float
  std::vector<Optimizer> optimizers_;
  bool uses_common_ = true;  ///< the model does
};

}  // namespace impart::train

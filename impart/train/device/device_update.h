#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <torch/types.h>

#include "impart/comm/device_sum.h"
#include "impart/cuda/device.h"
#include "impart/cuda/update.h"
#include "impart/train/update/flat_parameters.h"
#include "impart/train/update/half_weights.h"
#include "impart/train/update/optimizer.h"

namespace impart::train {

/// What the steps of a model on a GPU change; all must outlive the update.
struct DeviceUpdateSpec {
  config::OptimizerConfig optimizer = {};
  FlatParameters* parameters = nullptr;
  HalfWeights* half_weights = nullptr;  ///< null: the model computes in float
  Optimizer* state = nullptr;           ///< momentum and the like; its steps are counted here
  comm::DeviceSum* sum = nullptr;       ///< null: gradients are those of this process alone
};

/// Ends a step on a GPU: one kernel reads the gradients where the backward pass put them, changes
/// the weights and writes their bfloat16 copies. Over several processes the gradients are first
/// collected in one float array and summed there.
///
/// The model's gradients are not views of FlatParameters::gradients() from here on, and undefined
/// outside of steps.
class DeviceUpdate {
 public:
  explicit DeviceUpdate(const DeviceUpdateSpec& spec);

  struct Step {
    std::int64_t first_row = 0;  ///< in the epoch
    std::uint64_t examples = 0;  ///< of all processes
    double learning_rate = 0;
  };
  /// Counts a step and puts what is special about it on the device, at state().
  void begin(const Step& step);
  cuda::StepState* state();
  /// Of the state, as tensors of one number.
  torch::Tensor first_row() const;   ///< int64 [1]
  torch::Tensor loss_scale() const;  ///< float, no dimensions

  /// Before the forward pass, and after apply.
  void clear_gradients();
  /// After the backward pass: puts the sums over the processes into the flat array, where there
  /// are several. Collective if there is a sum: every process calls it, in the same order.
  void sum_gradients();
  /// After that. Both start kernels only, so that they can be recorded.
  void apply();

 private:
  torch::Tensor gradient_of(std::size_t slice) const;
  std::vector<cuda::GradientSlice> find_gradients(std::vector<torch::Tensor>& kept) const;

  DeviceUpdateSpec spec_;
  torch::Tensor step_state_;  ///< a cuda::StepState
  torch::Tensor scratch_;
};

}  // namespace impart::train

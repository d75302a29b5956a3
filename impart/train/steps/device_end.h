#pragma once

#include <memory>

#include "impart/comm/device_sum.h"
#include "impart/train/device/device_update.h"
#include "impart/train/steps/step.h"

namespace impart::train {

/// What ends steps on a GPU: a kernel changes the weights, after NCCL has summed the gradients
/// where there are several processes.
class DeviceEnd {
 public:
  DeviceEnd(std::unique_ptr<comm::DeviceSum> sum, const StepContext& context);

  DeviceUpdate& update() { return *update_; }
  /// The device's later work comes after sums that are under way.
  void wait() const;

 private:
  std::unique_ptr<comm::DeviceSum> sum_;  ///< null in a job of one process
  std::unique_ptr<DeviceUpdate> update_;
};

/// Null if steps cannot end there: they take several passes, or there are several processes and no
/// NCCL. ConfigError if the config asks for NCCL where it cannot be.
/// Collective: every process calls it, in the same order.
std::unique_ptr<DeviceEnd> make_device_end(const StepContext& context);

/// One pass whose gradients are taken from where the backward pass put them.
std::unique_ptr<Step> make_device_step(const StepContext& context, std::unique_ptr<DeviceEnd> end);
/// The same where all examples are on the device, or come there in turn: whole steps are recorded,
/// then replayed. See DeviceSteps.
std::unique_ptr<Step> make_recorded_step(const StepContext& context,
                                         std::unique_ptr<DeviceEnd> end);

}  // namespace impart::train

// A step of one pass on a GPU, ended by a kernel.

#include <utility>

#include <torch/torch.h>

#include "impart/train/costs/phase_clock.h"
#include "impart/train/steps/device_end.h"

namespace impart::train {
namespace {

class DeviceStep final : public Step {
 public:
  DeviceStep(const StepContext& context, std::unique_ptr<DeviceEnd> end)
      : context_(context), end_(std::move(end)) {}

  void begin_epoch() override { context_.passes->make_room(); }

  void run(std::uint32_t step, double learning_rate) override {
    EpochPasses& passes = *context_.passes;
    DeviceUpdate& update = end_->update();
    const std::uint64_t examples = passes.examples_in(step);
    update.clear_gradients();
    for (const WorkerGroup& group : passes.groups_of(step)) {
      const auto losses = passes.forward_losses(group, step);
      const PhaseTimer timer(*context_.clock, &store::PhaseSeconds::backward);
      (losses.sum() / static_cast<double>(examples)).backward();
    }
    update.begin({.examples = examples, .learning_rate = learning_rate});
    {
      const PhaseTimer timer(*context_.clock, &store::PhaseSeconds::weight_exchange);
      update.sum_gradients();
    }
    const PhaseTimer timer(*context_.clock, &store::PhaseSeconds::weight_update);
    update.apply();
    update.clear_gradients();
  }

  void end_epoch() override { end_->wait(); }

  torch::Tensor collected(std::int64_t rows) const override {
    end_->wait();
    return context_.passes->collected(rows);
  }

 private:
  StepContext context_;
  std::unique_ptr<DeviceEnd> end_;
};

}  // namespace

std::unique_ptr<Step> make_device_step(const StepContext& context, std::unique_ptr<DeviceEnd> end) {
  return std::make_unique<DeviceStep>(context, std::move(end));
}

}  // namespace impart::train

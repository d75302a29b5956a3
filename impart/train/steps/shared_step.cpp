// A step in which all workers share one gradient, summed while the backward pass still runs.

#include <torch/torch.h>

#include "impart/train/costs/phase_clock.h"
#include "impart/train/steps/step.h"
#include "impart/train/update/gradient_sum.h"

namespace impart::train {
namespace {

class SharedStep final : public Step {
 public:
  explicit SharedStep(const StepContext& context)
      : context_(context),
        gradient_sum_(*context.parameters, *context.communicator, context.half_weights) {
    if (context.norms->groups().are_cut()) context.passes->share_sums(context.norms);
  }
  ~SharedStep() override { context_.passes->share_sums(nullptr); }

  void begin_epoch() override { context_.passes->make_room(); }

  void run(std::uint32_t step, double learning_rate) override {
    EpochPasses& passes = *context_.passes;
    const auto examples = static_cast<double>(passes.examples_in(step));
    context_.parameters->gradients().zero_();
    const auto& groups = passes.groups_of(step);
    if (groups.empty()) gradient_sum_.expect_backward();
    for (const WorkerGroup& group : groups) {
      const auto losses = passes.forward_losses(group, step);
      if (&group == &groups.back()) gradient_sum_.expect_backward();
      passes.backward(losses.sum() / examples);
    }
    {
      const PhaseTimer timer(*context_.clock, &store::PhaseSeconds::weight_exchange);
      gradient_sum_.finish();
    }
    update_weights(context_, learning_rate);
  }

  torch::Tensor collected(std::int64_t rows) const override {
    return context_.passes->collected(rows);
  }

 private:
  StepContext context_;
  GradientSum gradient_sum_;
};

}  // namespace

std::unique_ptr<Step> make_shared_step(const StepContext& context) {
  return std::make_unique<SharedStep>(context);
}

}  // namespace impart::train

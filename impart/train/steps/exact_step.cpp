// A step whose result does not depend on the number of processes: exact sums of gradients.

#include <torch/torch.h>

#include "impart/train/costs/phase_clock.h"
#include "impart/train/steps/host_sum.h"
#include "impart/train/steps/step.h"

namespace impart::train {
namespace {

class ExactStep final : public Step {
 public:
  explicit ExactStep(const StepContext& context) : context_(context) {}

  void begin_epoch() override { context_.passes->make_room(); }

  void run(std::uint32_t step, double learning_rate) override {
    EpochPasses& passes = *context_.passes;
    const auto examples = static_cast<double>(passes.examples_in(step));
    torch::Tensor& gradient = context_.parameters->gradients();
    std::vector<torch::Tensor> gradients;
    for (const WorkerGroup& group : passes.groups_of(step)) {
      gradient.zero_();
      passes.backward(passes.forward_losses(group, step).sum() / examples);
      gradients.push_back(gradient.clone());
    }
    {
      const PhaseTimer timer(*context_.clock, &store::PhaseSeconds::weight_exchange);
      sum_exactly(gradients, gradient, *context_.communicator);
    }
    update_weights(context_, learning_rate);
  }

  torch::Tensor collected(std::int64_t rows) const override {
    return context_.passes->collected(rows);
  }

 private:
  StepContext context_;
};

}  // namespace

std::unique_ptr<Step> make_exact_step(const StepContext& context) {
  return std::make_unique<ExactStep>(context);
}

}  // namespace impart::train

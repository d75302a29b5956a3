// A step whose result does not depend on the number of processes: exact sums of gradients.

#include <memory>

#include <torch/torch.h>

#include "impart/train/costs/phase_clock.h"
#include "impart/train/steps/host_sum.h"
#include "impart/train/steps/lockstep.h"
#include "impart/train/steps/step.h"

namespace impart::train {
namespace {

class ExactStep final : public Step {
 public:
  explicit ExactStep(const StepContext& context) : context_(context) {
    if (context.norms->groups().size == 1) return;
    lockstep_ = std::make_unique<Lockstep>(*context.norms);
    context_.passes->share_sums(lockstep_.get());
  }
  ~ExactStep() override { context_.passes->share_sums(nullptr); }

  void begin_epoch() override { context_.passes->make_room(); }

  void run(std::uint32_t step, double learning_rate) override {
    const std::vector<torch::Tensor> gradients = lockstep_ ? run_together(step) : run_in_turn(step);
    {
      const PhaseTimer timer(*context_.clock, &store::PhaseSeconds::weight_exchange);
      sum_exactly(gradients, context_.parameters->gradients(), *context_.communicator);
    }
    update_weights(context_, learning_rate);
  }

  torch::Tensor collected(std::int64_t rows) const override {
    return context_.passes->collected(rows);
  }

 private:
  torch::Tensor loss_of(const WorkerGroup& group, std::uint32_t step) {
    EpochPasses& passes = *context_.passes;
    return passes.forward_losses(group, step).sum() / static_cast<double>(passes.examples_in(step));
  }

  std::vector<torch::Tensor> run_in_turn(std::uint32_t step) {
    torch::Tensor& gradient = context_.parameters->gradients();
    std::vector<torch::Tensor> gradients;
    for (const WorkerGroup& group : context_.passes->groups_of(step)) {
      gradient.zero_();
      context_.passes->backward(loss_of(group, step));
      gradients.push_back(gradient.clone());
    }
    return gradients;
  }

  /// Workers share statistics, so each of their batch norms needs all of them.
  std::vector<torch::Tensor> run_together(std::uint32_t step) {
    const std::vector<WorkerGroup>& groups = context_.passes->groups_of(step);
    std::vector<torch::Tensor> gradients(groups.size());
    std::vector<Lockstep::Pass> passes;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      passes.push_back({.worker = groups[i].first,
                        .run = [&, i] { gradients[i] = gradient_of(loss_of(groups[i], step)); },
                        .resume = [&, i] { context_.passes->set_layout(groups[i], step); }});
    }
    lockstep_->run(passes);
    return gradients;
  }

  /// Of all parameters, in one array that is nobody else's.
  torch::Tensor gradient_of(const torch::Tensor& loss) const {
    const PhaseTimer timer(*context_.clock, &store::PhaseSeconds::backward);
    const auto& slices = context_.parameters->slices();
    const HalfWeights* const halves = context_.half_weights;
    std::vector<torch::Tensor> parameters;
    std::vector<std::size_t> owners;  // their slices: a copy in bfloat16 may stand beside one
    for (std::size_t i = 0; i < slices.size(); ++i) {
      parameters.push_back(slices[i].parameter);
      owners.push_back(i);
      if (halves == nullptr || !halves->copy_of(i).defined()) continue;
      parameters.push_back(halves->copy_of(i));
      owners.push_back(i);
    }
    const auto found =
        torch::autograd::grad({loss}, parameters, /*grad_outputs=*/{}, /*retain_graph=*/false,
                              /*create_graph=*/false, /*allow_unused=*/true);
    torch::Tensor flat = torch::zeros_like(context_.parameters->gradients());
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i].defined()) continue;
      torch::Tensor place = FlatParameters::view_of(slices[owners[i]], flat);
      const bool is_copy = i > 0 && owners[i] == owners[i - 1];
      is_copy ? place.add_(found[i]) : place.copy_(found[i]);
    }
    return flat;
  }

  StepContext context_;
  std::unique_ptr<Lockstep> lockstep_;  ///< null: workers do not meet
};

}  // namespace

std::unique_ptr<Step> make_exact_step(const StepContext& context) {
  return std::make_unique<ExactStep>(context);
}

}  // namespace impart::train

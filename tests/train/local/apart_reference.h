#pragma once

// Workers that train apart, as a few lines of torch in double.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "impart/config/config.h"
#include "impart/placement/step_plan.h"

namespace impart::testing {

/// The gradient of a worker's mean loss in a step, at these parameters.
using WorkerGradient = std::function<torch::Tensor(std::uint32_t worker, std::uint32_t step,
                                                   const torch::Tensor& parameters)>;

/// The outer rules as they are published.
struct OuterReference {
  std::string rule;
  double lr = 1, momentum = 0;
  torch::Tensor velocity = {};

  /// `change` is the mean of what the workers have subtracted.
  torch::Tensor step(const torch::Tensor& start, const torch::Tensor& change, double inner_lr) {
    if (!velocity.defined()) velocity = torch::zeros_like(start);
    if (rule == "nesterov") {
      velocity = momentum * velocity + change;
      return start - lr * (change + momentum * velocity);
    }
    if (rule == "slowmo") {
      velocity = momentum * velocity + change / inner_lr;
      return start - lr * inner_lr * velocity;
    }
    return start - change;
  }
};

/// One epoch of all steps of a plan, with SGD or AdamW as the config has it.
class ApartReference {
 public:
  ApartReference(const config::RunConfig& config, const torch::Tensor& before, OuterReference outer)
      : config_(config), outer_(std::move(outer)), common_(before.clone()) {
    for (std::uint32_t worker = 0; worker < config.workers.count; ++worker) {
      models_.push_back(before.clone().set_requires_grad(true));
      optimizers_.push_back(make_optimizer(models_.back()));
    }
  }

  torch::Tensor train(const placement::StepPlan& plan, const WorkerGradient& gradient,
                      double rate) {
    const std::uint32_t between =
        config_.workers.sync.steps > 0 ? config_.workers.sync.steps : plan.steps();
    for (std::uint32_t step = 0; step < plan.steps(); ++step) {
      for (std::uint32_t worker = 0; worker < models_.size(); ++worker) {
        if (plan.batch_of(WorkerId{worker}, step).empty()) continue;
        models_[worker].mutable_grad() = gradient(worker, step, models_[worker].detach());
        optimizers_[worker]->step();
      }
      const bool is_last = step + 1 == plan.steps();
      if ((step + 1) % between == 0 || is_last) sync(plan, step + 1, is_last, rate);
    }
    return common_;
  }

 private:
  std::unique_ptr<torch::optim::Optimizer> make_optimizer(const torch::Tensor& model) const {
    const config::OptimizerConfig& c = config_.optimizer;
    const std::vector<torch::Tensor> models = {model};
    if (c.name == config::OptimizerConfig::Name::kAdamw) {
      return std::make_unique<torch::optim::AdamW>(models, torch::optim::AdamWOptions(c.lr)
                                                               .betas({c.beta1, c.beta2})
                                                               .eps(c.epsilon)
                                                               .weight_decay(c.weight_decay));
    }
    return std::make_unique<torch::optim::SGD>(models, torch::optim::SGDOptions(c.lr)
                                                           .momentum(c.momentum)
                                                           .nesterov(c.nesterov)
                                                           .weight_decay(c.weight_decay));
  }

  /// What the workers had subtracted when they came to this step.
  torch::Tensor mean_change(const placement::StepPlan& plan, std::uint32_t step) const {
    torch::Tensor sum = torch::zeros_like(common_);
    double visits = 0;
    for (std::uint32_t worker = 0; worker < models_.size(); ++worker) {
      double mine = 0;
      for (std::uint32_t s = last_sync_; s < step; ++s) {
        mine += static_cast<double>(plan.batch_of(WorkerId{worker}, s).size());
      }
      sum += mine * (common_ - models_[worker].detach());
      visits += mine;
    }
    return sum / visits;
  }

  /// With outer_overlap every outer step but the last comes one stretch late.
  void sync(const placement::StepPlan& plan, std::uint32_t step, bool is_last, double rate) {
    const torch::NoGradGuard no_grad;
    const bool delayed = config_.workers.outer_overlap;
    if (delayed && waiting_.defined()) {
      common_ = outer_.step(common_, waiting_, rate);
      for (std::size_t worker = 0; worker < models_.size(); ++worker) {
        models_[worker].copy_(common_ + (models_[worker] - starts_[worker]));
      }
      waiting_ = torch::Tensor();
    }
    const torch::Tensor change = mean_change(plan, step);
    last_sync_ = step;
    if (delayed && !is_last) {
      waiting_ = change;
      starts_.clear();
      for (const torch::Tensor& model : models_) starts_.push_back(model.detach().clone());
      return;
    }
    common_ = outer_.step(common_, change, rate);
    for (torch::Tensor& model : models_) model.copy_(common_);
  }

  config::RunConfig config_;
  OuterReference outer_;
  torch::Tensor common_, waiting_;
  std::vector<torch::Tensor> models_, starts_;
  std::vector<std::unique_ptr<torch::optim::Optimizer>> optimizers_;
  std::uint32_t last_sync_ = 0;
};

}  // namespace impart::testing

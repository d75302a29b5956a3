#include "impart/train/update/optimizer.h"

#include <cmath>

#include <ATen/Parallel.h>
#include <torch/torch.h>

namespace impart::train {
namespace {

constexpr std::int64_t kGrain = 1 << 16;

/// One pass over the arrays on the CPU; `update(value, gradient, states...)` changes one element.
template <class Update>
void for_each_element(std::int64_t size, Update update) {
  at::parallel_for(0, size, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) update(i);
  });
}

void sgd_on_cpu(const config::OptimizerConfig& c, torch::Tensor& values,
                const torch::Tensor& gradients, torch::Tensor& momentum, float rate,
                bool is_first) {
  float* const value = values.data_ptr<float>();
  const float* const gradient = gradients.data_ptr<float>();
  float* const velocity = momentum.data_ptr<float>();
  const auto decay = static_cast<float>(c.weight_decay);
  const auto keep = static_cast<float>(c.momentum);
  const bool nesterov = c.nesterov && c.momentum > 0;
  for_each_element(values.numel(), [=](std::int64_t i) {
    const float g = gradient[i] + decay * value[i];
    const float v = is_first ? g : keep * velocity[i] + g;
    velocity[i] = v;
    value[i] -= rate * (nesterov ? g + keep * v : v);
  });
}

void adamw_on_cpu(const config::OptimizerConfig& c, torch::Tensor& values,
                  const torch::Tensor& gradients, std::vector<torch::Tensor>& state, float rate,
                  std::int64_t step) {
  float* const value = values.data_ptr<float>();
  const float* const gradient = gradients.data_ptr<float>();
  float* const first = state[0].data_ptr<float>();
  float* const second = state[1].data_ptr<float>();
  const auto beta1 = static_cast<float>(c.beta1), beta2 = static_cast<float>(c.beta2);
  const auto epsilon = static_cast<float>(c.epsilon);
  const auto decay = 1.0f - rate * static_cast<float>(c.weight_decay);
  const auto correction1 = static_cast<float>(1 - std::pow(c.beta1, step));
  const auto correction2 = static_cast<float>(std::sqrt(1 - std::pow(c.beta2, step)));
  for_each_element(values.numel(), [=](std::int64_t i) {
    first[i] = beta1 * first[i] + (1 - beta1) * gradient[i];
    second[i] = beta2 * second[i] + (1 - beta2) * gradient[i] * gradient[i];
    const float size = std::sqrt(second[i]) / correction2 + epsilon;
    value[i] = value[i] * decay - rate / correction1 * first[i] / size;
  });
}

/// The same from tensor operations, for other devices.
void sgd_elsewhere(const config::OptimizerConfig& c, torch::Tensor& values,
                   const torch::Tensor& gradients, torch::Tensor& momentum, double rate,
                   bool is_first) {
  const auto g = gradients.add(values, c.weight_decay);
  is_first ? momentum.copy_(g) : momentum.mul_(c.momentum).add_(g);
  values.sub_(c.nesterov && c.momentum > 0 ? g.add(momentum, c.momentum) : momentum, rate);
}

void adamw_elsewhere(const config::OptimizerConfig& c, torch::Tensor& values,
                     const torch::Tensor& gradients, std::vector<torch::Tensor>& state, double rate,
                     std::int64_t step) {
  values.mul_(1 - rate * c.weight_decay);
  state[0].mul_(c.beta1).add_(gradients, 1 - c.beta1);
  state[1].mul_(c.beta2).addcmul_(gradients, gradients, 1 - c.beta2);
  const double correction1 = 1 - std::pow(c.beta1, step);
  const double correction2 = std::sqrt(1 - std::pow(c.beta2, step));
  values.addcdiv_(state[0], (state[1].sqrt() / correction2).add_(c.epsilon), -rate / correction1);
}

}  // namespace

Optimizer::Optimizer(const config::OptimizerConfig& config, const torch::Tensor& values)
    : config_(config) {
  const std::size_t count = config.name == config::OptimizerConfig::Name::kAdamw ? 2 : 1;
  for (std::size_t i = 0; i < count; ++i) state_.push_back(torch::zeros_like(values));
}

Optimizer Optimizer::clone() const {
  Optimizer copy = *this;
  for (torch::Tensor& tensor : copy.state_) tensor = tensor.clone();
  return copy;
}

void Optimizer::step(torch::Tensor& values, torch::Tensor& gradients, double learning_rate) {
  const torch::NoGradGuard no_grad;
  ++steps_;
  if (config_.clip_norm > 0) {
    const auto norm = gradients.norm();
    gradients.mul_((config_.clip_norm / (norm + 1e-6)).clamp_max(1.0));
  }
  const bool on_cpu = values.device().is_cpu();
  const auto rate = static_cast<float>(learning_rate);
  if (config_.name == config::OptimizerConfig::Name::kAdamw) {
    on_cpu ? adamw_on_cpu(config_, values, gradients, state_, rate, steps_)
           : adamw_elsewhere(config_, values, gradients, state_, learning_rate, steps_);
  } else {
    on_cpu ? sgd_on_cpu(config_, values, gradients, state_[0], rate, steps_ == 1)
           : sgd_elsewhere(config_, values, gradients, state_[0], learning_rate, steps_ == 1);
  }
}

}  // namespace impart::train

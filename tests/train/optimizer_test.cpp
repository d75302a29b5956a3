#include "impart/train/update/optimizer.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/models/tensors.h"

namespace impart::train {
namespace {

using testing::random_tensor;
using testing::relative_distance;
using Name = config::OptimizerConfig::Name;

constexpr std::int64_t kSize = 1000;

torch::Tensor gradient_of(std::uint32_t step) {
  return random_tensor({kSize}, 100 + step, 0.5, 0.1);
}

double rate_of(std::uint32_t step) {
  return 0.05 / (1 + 0.1 * step);
}

/// Parameters after 20 steps of ours.
torch::Tensor run_ours(const config::OptimizerConfig& config) {
  torch::Tensor values = random_tensor({kSize}, 1);
  Optimizer optimizer(config, values);
  for (std::uint32_t step = 0; step < 20; ++step) {
    torch::Tensor gradients = gradient_of(step);
    optimizer.step(values, gradients, rate_of(step));
  }
  return values;
}

/// The same with an optimiser of torch, over three parameters and in double.
template <class Optim, class Options>
torch::Tensor run_torch(const Options& options, double clip_norm = 0) {
  const std::vector<std::int64_t> sizes = {300, 1, kSize - 301};
  std::vector<torch::Tensor> parameters;
  for (const torch::Tensor& part :
       random_tensor({kSize}, 1).to(torch::kDouble).split_with_sizes(sizes)) {
    parameters.push_back(part.clone().requires_grad_(true));
  }
  Optim optimizer(parameters, options);
  for (std::uint32_t step = 0; step < 20; ++step) {
    const auto gradients = gradient_of(step).to(torch::kDouble).split_with_sizes(sizes);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      parameters[i].mutable_grad() = gradients[i].clone();
    }
    if (clip_norm > 0) torch::nn::utils::clip_grad_norm_(parameters, clip_norm);
    static_cast<Options&>(optimizer.param_groups()[0].options()).lr(rate_of(step));
    optimizer.step();
  }
  return torch::cat(parameters).detach();
}

torch::Tensor run_torchs_sgd(const config::OptimizerConfig& config) {
  return run_torch<torch::optim::SGD>(torch::optim::SGDOptions(1)
                                          .momentum(config.momentum)
                                          .nesterov(config.nesterov)
                                          .weight_decay(config.weight_decay),
                                      config.clip_norm);
}

torch::Tensor run_torchs_adamw(const config::OptimizerConfig& config) {
  return run_torch<torch::optim::AdamW>(torch::optim::AdamWOptions(1)
                                            .betas({config.beta1, config.beta2})
                                            .eps(config.epsilon)
                                            .weight_decay(config.weight_decay),
                                        config.clip_norm);
}

TEST(Optimizer, OfSgdIsTorchs) {
  for (const config::OptimizerConfig& config : {
           config::OptimizerConfig{.momentum = 0, .nesterov = false, .weight_decay = 0},
           config::OptimizerConfig{.momentum = 0.9, .nesterov = false, .weight_decay = 0},
           config::OptimizerConfig{.momentum = 0.9, .nesterov = true, .weight_decay = 0},
           config::OptimizerConfig{.momentum = 0, .nesterov = false, .weight_decay = 0.1},
           config::OptimizerConfig{.momentum = 0.8, .nesterov = true, .weight_decay = 0.1},
       }) {
    EXPECT_LT(relative_distance(run_ours(config), run_torchs_sgd(config)), 1e-6)
        << config.momentum << " " << config.nesterov << " " << config.weight_decay;
  }
}

TEST(Optimizer, OfAdamWIsTorchs) {
  for (const config::OptimizerConfig& config : {
           config::OptimizerConfig{.name = Name::kAdamw, .weight_decay = 0},
           config::OptimizerConfig{.name = Name::kAdamw, .weight_decay = 0.2},
           config::OptimizerConfig{.name = Name::kAdamw,
           .weight_decay = 0.01,
           .beta1 = 0.8,
           .beta2 = 0.95,
           .epsilon = 1e-3},
       }) {
    EXPECT_LT(relative_distance(run_ours(config), run_torchs_adamw(config)), 1e-6)
        << config.weight_decay << " " << config.beta1;
  }
}

TEST(Optimizer, OfSgdIgnoresNesterovWithoutMomentum) {
  const config::OptimizerConfig with{.momentum = 0, .nesterov = true, .weight_decay = 0.1};
  const config::OptimizerConfig without{.momentum = 0, .nesterov = false, .weight_decay = 0.1};
  EXPECT_TRUE(torch::equal(run_ours(with), run_ours(without)));
}

TEST(Optimizer, ShortensLongGradientsAsTorchDoes) {
  for (const double limit : {0.5, 16.2, 1000.0}) {  // always, sometimes, never
    const config::OptimizerConfig sgd{.weight_decay = 0.1, .clip_norm = limit};
    EXPECT_LT(relative_distance(run_ours(sgd), run_torchs_sgd(sgd)), 2e-6) << limit;
    const config::OptimizerConfig adamw{
        .name = Name::kAdamw, .weight_decay = 0.1, .clip_norm = limit};
    EXPECT_LT(relative_distance(run_ours(adamw), run_torchs_adamw(adamw)), 2e-6) << limit;
  }
}

TEST(Optimizer, LeavesShortGradientsAsTheyAre) {
  torch::Tensor values = random_tensor({kSize}, 1), gradients = gradient_of(0);
  Optimizer optimizer({.clip_norm = 1000}, values);
  optimizer.step(values, gradients, 0.1);
  EXPECT_TRUE(torch::equal(gradients, gradient_of(0)));
  Optimizer strict({.clip_norm = 2}, values);
  strict.step(values, gradients, 0.1);
  EXPECT_NEAR(gradients.norm().item<double>(), 2, 1e-5);
}

TEST(Optimizer, GoesOnFromASavedState) {
  for (const Name name : {Name::kSgd, Name::kAdamw}) {
    const config::OptimizerConfig config{.name = name, .weight_decay = 0.1};
    torch::Tensor values = random_tensor({kSize}, 1);
    Optimizer first(config, values);
    for (std::uint32_t step = 0; step < 7; ++step) {
      torch::Tensor gradients = gradient_of(step);
      first.step(values, gradients, rate_of(step));
    }
    EXPECT_EQ(first.steps(), 7);
    EXPECT_EQ(first.state().size(), name == Name::kSgd ? 1u : 2u);
    Optimizer second(config, values);
    for (std::size_t i = 0; i < first.state().size(); ++i) {
      second.state()[i].copy_(first.state()[i]);
    }
    second.set_steps(first.steps());
    for (std::uint32_t step = 7; step < 20; ++step) {
      torch::Tensor gradients = gradient_of(step);
      second.step(values, gradients, rate_of(step));
    }
    EXPECT_TRUE(torch::equal(values, run_ours(config)));
  }
}

}  // namespace
}  // namespace impart::train

#include "impart/train/update/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace impart::train {

double learning_rate(const config::OptimizerConfig& optimizer, double progress,
                     std::uint32_t epochs, std::uint32_t steps_per_epoch) {
  const double warmup = optimizer.warmup_epochs.of(epochs);
  if (progress < warmup) {
    // The first step is one step of the rise, so that it does not have rate 0.
    return optimizer.lr * (progress + 1.0 / std::max(1u, steps_per_epoch)) / warmup;
  }
  const double rest = std::max(1e-9, static_cast<double>(epochs) - warmup);
  const double share = std::min(1.0, (progress - warmup) / rest);
  const double last = optimizer.lr * optimizer.final_lr_factor;
  using Schedule = config::OptimizerConfig::Schedule;
  switch (optimizer.schedule) {
    case Schedule::kStep: {
      const double drops = std::floor((progress - warmup) / optimizer.step_epochs.of(epochs));
      return optimizer.lr * std::pow(optimizer.step_factor, drops);
    }
    case Schedule::kCosine:
      return last + (optimizer.lr - last) * (1 + std::cos(std::numbers::pi * share)) / 2;
    case Schedule::kLinear:
      return optimizer.lr + (last - optimizer.lr) * share;
    case Schedule::kConstant:
      break;
  }
  return optimizer.lr;
}

}  // namespace impart::train

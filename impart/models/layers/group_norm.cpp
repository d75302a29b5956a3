#include "impart/models/layers/group_norm.h"

#include <numeric>

#include <torch/torch.h>

namespace impart::models {
namespace {

constexpr std::int64_t kMostGroups = 32;
constexpr double kGroupEpsilon = 1e-5;

}  // namespace

std::int64_t count_groups(std::int64_t channels) {
  return channels % 2 == 0 ? std::gcd(kMostGroups, channels / 2) : 1;
}

GroupNormImpl::GroupNormImpl(std::int64_t channels) {
  weight = register_parameter("weight", torch::ones({channels}));
  bias = register_parameter("bias", torch::zeros({channels}));
}

TensorFork GroupNormImpl::forward_twice(const torch::Tensor& input, const NormTail& tail) {
  const auto type = input.device().is_cpu() ? weight.scalar_type() : input.scalar_type();
  const torch::Tensor normalised = torch::group_norm(input.to(type), count_groups(input.size(1)),
                                                     weight.to(type), bias.to(type), kGroupEpsilon)
                                       .to(input.scalar_type());
  const torch::Tensor output =
      apply_tail(normalised.contiguous(input.suggest_memory_format()), tail);
  return {output, output};
}

}  // namespace impart::models

#include "impart/train/losses.h"

#include <torch/torch.h>

namespace impart {

torch::Tensor prediction_losses(const torch::Tensor& logits, const torch::Tensor& targets) {
  namespace F = torch::nn::functional;
  const auto options =
      F::CrossEntropyFuncOptions().reduction(torch::kNone).ignore_index(kNoTarget);
  const auto flat =
      F::cross_entropy(logits.flatten(0, -2).to(torch::kFloat32), targets.flatten(), options);
  return flat.view_as(targets);
}

torch::Tensor count_targets(const torch::Tensor& targets) {
  return targets.ne(kNoTarget).sum(1).clamp_min(1).to(torch::kFloat32);
}

torch::Tensor example_losses(const torch::Tensor& logits, const torch::Tensor& targets) {
  const auto losses = prediction_losses(logits, targets);
  if (targets.dim() == 1) return losses;
  return losses.sum(1) / count_targets(targets);
}

}  // namespace impart

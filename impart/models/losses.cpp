#include "impart/models/losses.h"

#include <torch/torch.h>

namespace impart {
namespace {

/// Cross entropy of rows of logits, [N, classes], with labels [N].
torch::Tensor row_losses(const torch::Tensor& logits, const torch::Tensor& labels) {
  return torch::nn::functional::cross_entropy(logits.to(torch::kFloat32), labels,
                                              torch::nn::functional::CrossEntropyFuncOptions()
                                                  .reduction(torch::kNone)
                                                  .ignore_index(kNoTarget));
}

}  // namespace

torch::Tensor token_losses(const torch::Tensor& logits, const torch::Tensor& targets) {
  return row_losses(logits.flatten(0, 1), targets.flatten()).view(targets.sizes());
}

torch::Tensor example_losses(const torch::Tensor& logits, const torch::Tensor& targets) {
  if (logits.dim() == 2) return row_losses(logits, targets);
  return mean_over_targets(token_losses(logits, targets), targets);
}

torch::Tensor mean_over_targets(const torch::Tensor& values, const torch::Tensor& targets) {
  const torch::Tensor counted = targets.ne(kNoTarget).to(values.scalar_type());
  return (values * counted).sum(1) / counted.sum(1).clamp_min(1);
}

}  // namespace impart

#include "impart/models/losses.h"

#include <torch/torch.h>

namespace impart::models {
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
  const torch::Tensor rows = logits.flatten(0, 1), labels = targets.flatten();
  const torch::Tensor losses = has_device_losses(logits)
                                   ? device_token_losses(rows, labels, /*all=*/false).losses
                                   : row_losses(rows, labels);
  return losses.view(targets.sizes());
}

torch::Tensor class_losses(const torch::Tensor& logits, const torch::Tensor& labels) {
  return row_losses(logits, labels);
}

torch::Tensor block_losses(const torch::Tensor& logits, const torch::Tensor& targets) {
  return mean_over_targets(token_losses(logits, targets), targets);
}

torch::Tensor example_losses(const torch::Tensor& logits, const torch::Tensor& targets) {
  return logits.dim() == 2 ? class_losses(logits, targets) : block_losses(logits, targets);
}

MeasuredLosses measure_class_losses(const torch::Tensor& logits, const torch::Tensor& labels) {
  return {class_losses(logits, labels), {}};
}

MeasuredLosses measure_block_losses(const torch::Tensor& logits, const torch::Tensor& targets) {
  if (!has_device_losses(logits)) return {block_losses(logits, targets), {}};
  const TokenMeasures tokens =
      device_token_losses(logits.flatten(0, 1), targets.flatten(), /*all=*/true);
  return {mean_over_targets(tokens.losses.view(targets.sizes()), targets), tokens};
}

MeasuredLosses measure_losses(const torch::Tensor& logits, const torch::Tensor& targets) {
  return logits.dim() == 2 ? measure_class_losses(logits, targets)
                           : measure_block_losses(logits, targets);
}

torch::Tensor smooth_losses(const torch::Tensor& losses, const torch::Tensor& logits,
                            const torch::Tensor& targets, double smoothing) {
  // log Σ exp(x) is in both losses, so they differ by x_y - mean(x).
  const torch::Tensor column = targets.clamp_min(0).unsqueeze(-1);
  const torch::Tensor own = logits.gather(-1, column).squeeze(-1).to(torch::kFloat32);
  const torch::Tensor more = own - logits.mean(-1, /*keepdim=*/false, torch::kFloat32);
  return losses + smoothing * (targets.dim() == 1 ? more : mean_over_targets(more, targets));
}

torch::Tensor mean_over_targets(const torch::Tensor& values, const torch::Tensor& targets) {
  const torch::Tensor counted = targets.ne(kNoTarget).to(values.scalar_type());
  return (values * counted).sum(1) / counted.sum(1).clamp_min(1);
}

}  // namespace impart::models

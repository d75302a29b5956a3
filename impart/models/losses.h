#pragma once

#include <cstdint>

#include <torch/types.h>

namespace impart {

/// A target that does not count: padding after the last token.
inline constexpr std::int64_t kNoTarget = -100;

/// Cross entropy of every token, [B, T], in nats, from logits [B, T, V] and targets [B, T]; 0 where
/// there is no target.
torch::Tensor token_losses(const torch::Tensor& logits, const torch::Tensor& targets);

/// Cross entropy of every example, [B], in nats: of logits [B, classes] and labels [B], or the mean
/// of the token losses of a block, over its targets; 0 for a block without any. Autograd keeps one
/// tensor as large as the logits.
torch::Tensor example_losses(const torch::Tensor& logits, const torch::Tensor& targets);

/// The mean over the tokens of each example that have a target, [B], of `values`, [B, T]; 0 for a
/// block without any.
torch::Tensor mean_over_targets(const torch::Tensor& values, const torch::Tensor& targets);

}  // namespace impart

#pragma once

#include <cstdint>

#include <torch/types.h>

namespace impart {

/// The target of a token that has none: the padding of a text that is shorter than its block.
inline constexpr std::int64_t kNoTarget = -100;

// Cross entropy. A classifier's logits are [B, classes] and its targets [B]; those of a language
// model are [B, T, vocabulary] and [B, T]. In single precision, whatever the logits are.

/// The losses of single predictions, in the shape of the targets; 0 where there is no target.
torch::Tensor prediction_losses(const torch::Tensor& logits, const torch::Tensor& targets);

/// Per example, [B]: its loss, or the mean over its tokens that have a target.
torch::Tensor example_losses(const torch::Tensor& logits, const torch::Tensor& targets);

/// How many of an example's tokens have a target, [B], as floats; at least 1.
torch::Tensor count_targets(const torch::Tensor& targets);

}  // namespace impart

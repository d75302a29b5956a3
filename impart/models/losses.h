#pragma once

#include <cstdint>

#include <torch/types.h>

#include "impart/models/device_losses.h"

namespace impart::models {

/// A target that does not count: padding after the last token.
inline constexpr std::int64_t kNoTarget = -100;

/// Cross entropy of every token, [B, T], in nats, from logits [B, T, V] and targets [B, T]; 0 where
/// there is no target.
torch::Tensor token_losses(const torch::Tensor& logits, const torch::Tensor& targets);

/// Cross entropy of every example, [B], in nats, of logits [B, classes] and labels [B].
torch::Tensor class_losses(const torch::Tensor& logits, const torch::Tensor& labels);

/// The mean of the token losses of every block, [B], over its targets; 0 for a block without any.
torch::Tensor block_losses(const torch::Tensor& logits, const torch::Tensor& targets);

/// Either of them, as the logits are: of logits [B, classes] and labels [B], or blocks of
/// tokens. Autograd keeps one tensor as large as the logits.
torch::Tensor example_losses(const torch::Tensor& logits, const torch::Tensor& targets);

/// The losses of a batch, and what else the same look at its logits told.
struct MeasuredLosses {
  torch::Tensor examples;  ///< as of class_losses, or block_losses
  TokenMeasures tokens;    ///< of B · T tokens; undefined unless they were measured on a GPU
};
MeasuredLosses measure_class_losses(const torch::Tensor& logits, const torch::Tensor& labels);
MeasuredLosses measure_block_losses(const torch::Tensor& logits, const torch::Tensor& targets);
/// Either of them, as the logits are.
MeasuredLosses measure_losses(const torch::Tensor& logits, const torch::Tensor& targets);

/// What training minimises instead of the losses if a share `smoothing` of every target is spread
/// evenly over all classes: (1 - smoothing) · loss + smoothing · (mean loss over the classes). As
/// `losses`, [B].
torch::Tensor smooth_losses(const torch::Tensor& losses, const torch::Tensor& logits,
                            const torch::Tensor& targets, double smoothing);

/// The mean over the tokens of each example that have a target, [B], of `values`, [B, T]; 0 for a
/// block without any.
torch::Tensor mean_over_targets(const torch::Tensor& values, const torch::Tensor& targets);

}  // namespace impart::models

#pragma once

#include <torch/types.h>

#include "impart/core/error.h"
#include "impart/data/task.h"
#include "impart/models/losses.h"

namespace impart::models {

/// The loss of a task: what training minimises and evaluation reports. All are cross entropies in
/// nats, of logits and targets as the task's models and feeds make them.
struct TaskLosses {
  data::Task task;
  /// Of every prediction: of logits [B, classes] and labels [B], or as token_losses.
  torch::Tensor (*of_predictions)(const torch::Tensor& logits, const torch::Tensor& targets);
  /// Of every example, [B], as example_losses.
  torch::Tensor (*of_examples)(const torch::Tensor& logits, const torch::Tensor& targets);
  /// The same, and what else one look at the logits told.
  MeasuredLosses (*measure)(const torch::Tensor& logits, const torch::Tensor& targets);
};

inline constexpr TaskLosses kTaskLosses[] = {
    {data::kClasses, class_losses, class_losses, measure_class_losses},
    {data::kLanguage, token_losses, block_losses, measure_block_losses},
};

inline const TaskLosses& losses_of(const data::Task& task) {
  for (const TaskLosses& row : kTaskLosses) {
    if (row.task == task) return row;
  }
  throw Error("a task without a loss");
}

}  // namespace impart::models

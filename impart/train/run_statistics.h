#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <torch/types.h>

#include "impart/comm/communicator.h"
#include "impart/config/config.h"
#include "impart/models/classifier.h"
#include "impart/placement/step_plan.h"
#include "impart/train/steps/norm_exchange.h"

namespace impart::train {

/// What batch norms have measured, of all workers of a run: each has its own, or groups of them
/// share one (`workers.batch_norm`). A model without batch norms has none.
class RunStatistics {
 public:
  /// All workers start from the model's own. What is passed must outlive it.
  RunStatistics(models::Classifier& model, const config::WorkersConfig& workers,
                const NormExchange& norms, comm::Communicator& communicator);

  /// Notes which workers train in an epoch: those that never did have measured nothing, and are
  /// left out of the mean.
  void note_training(const placement::StepPlan& plan);

  /// Sets what evaluation normalises with, as `workers.running_stats` says.
  /// Collective: every process calls it, in the same order.
  void collapse();

  /// Sets it to that of one worker, which must not share it.
  /// Collective: every process calls it, in the same order.
  void show(std::uint32_t worker);

  /// One row for each worker, for a checkpoint; nothing if there are none.
  /// Collective: every process calls it, in the same order.
  std::optional<torch::Tensor> gather();
  bool empty() const { return empty_; }
  void restore(const torch::Tensor& all);

 private:
  using RunningStats = config::WorkersConfig::RunningStats;

  torch::Tensor places() const;
  /// Whether all workers have trained, or none has.
  bool trained_alike() const {
    return std::ranges::adjacent_find(has_trained_, std::not_equal_to{}) == has_trained_.end();
  }
  torch::Tensor select_trained(const torch::Tensor& all) const;

  models::Classifier& model_;
  RunningStats which_;
  const NormExchange& norms_;
  comm::Communicator& communicator_;
  bool empty_ = true;
  std::vector<bool> has_trained_;  ///< by worker
};

}  // namespace impart::train

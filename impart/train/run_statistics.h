#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <torch/types.h>

#include "impart/comm/communicator.h"
#include "impart/config/config.h"
#include "impart/models/classifier.h"
#include "impart/placement/hosted_workers.h"
#include "impart/placement/step_plan.h"

namespace impart::train {

/// What batch norms have measured, of all workers of a run: each has its own, or all share one
/// (`workers.batch_norm`). A model without batch norms has none.
class RunStatistics {
 public:
  /// All workers start from the model's own. ConfigError if they are to share one over processes.
  RunStatistics(models::Classifier& model, const config::WorkersConfig& workers,
                comm::Communicator& communicator);

  /// Notes which workers train in an epoch: those that never did have measured nothing, and are
  /// left out of the mean.
  void note_training(const placement::StepPlan& plan);

  /// Sets what evaluation normalises with, as `workers.running_stats` says.
  /// Collective: every process calls it, in the same order.
  void collapse();

  /// One row for each worker, for a checkpoint; nothing if there are none.
  /// Collective: every process calls it, in the same order.
  std::optional<torch::Tensor> gather();
  bool empty() const;
  void restore(const torch::Tensor& all);

  bool shared() const { return shared_; }

 private:
  std::vector<std::int64_t> measuring_workers() const;

  models::Classifier& model_;
  std::uint32_t workers_;
  bool shared_, first_only_;
  comm::Communicator& communicator_;
  placement::HostedWorkers hosted_;
  std::vector<bool> has_trained_;  ///< by worker
};

}  // namespace impart::train

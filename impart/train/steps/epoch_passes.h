#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <torch/types.h>

#include "impart/feed/feed.h"
#include "impart/models/classifier.h"
#include "impart/models/layers/dropout.h"
#include "impart/models/layers/worker_batch_norm.h"
#include "impart/models/task_losses.h"
#include "impart/placement/hosted_workers.h"
#include "impart/placement/norm_groups.h"
#include "impart/placement/step_plan.h"
#include "impart/train/batch_signals.h"
#include "impart/train/costs/phase_clock.h"
#include "impart/train/update/half_weights.h"

namespace impart::train {

/// Consecutive hosted workers whose batches go through the model together.
struct WorkerGroup {
  std::uint32_t first = 0, count = 0;  ///< hosted workers, from 0
  std::int64_t row = 0, rows = 0;      ///< in the epoch's list of visits
};

/// What passes are made of; all that is pointed to must outlive them.
struct EpochPassesSpec {
  models::Classifier* model = nullptr;
  feed::Feed* feed = nullptr;
  const SignalSet* signals = nullptr;
  bool collect_signals = true;
  HalfWeights* half_weights = nullptr;   ///< null: the model computes in float
  PhaseClock* clock = nullptr;           ///< of the run
  placement::HostedWorkers hosted = {};  ///< by this process
  std::uint64_t seed = 0;                ///< of dropout
  std::int64_t most_rows = 0;            ///< of a pass
  bool one_by_one = false;               ///< every worker has a pass of its own
  placement::NormGroups norms = {};      ///< workers that batch norm sees together
  double label_smoothing = 0;            ///< as in OptimizerConfig
};

/// The passes over the model that the steps of an epoch take: which workers go together, forward
/// and backward, and the signals of the rows on the way.
class EpochPasses {
 public:
  /// Tells the model's layers to look here for whose rows a batch has.
  explicit EpochPasses(const EpochPassesSpec& spec);

  /// Batch norms add up their sums there, because groups have rows in several passes of a step;
  /// null for none. Then every step has a pass, if need be without rows: others may wait for it. To
  /// be set before an epoch is planned.
  void share_sums(models::SharedSums* sums) { sums_ = sums; }

  /// Plans the passes of an epoch from this step on, and tells the feed. `weights` are of all
  /// examples; none: all are 1. They and the plan must live until the end of the epoch.
  void begin_epoch(const placement::StepPlan& plan, std::uint32_t epoch, std::uint32_t first_step,
                   std::span<const float> weights);
  /// From the next epoch on every worker has a pass of its own, or not.
  void set_one_by_one(bool one_by_one);
  /// Plans them again, with at most so many rows in a pass.
  void limit_rows(std::int64_t most);
  /// Makes room for the signals of the epoch's rows.
  void make_room();

  const placement::StepPlan& plan() const { return *plan_; }  ///< of the epoch
  std::uint32_t epoch() const { return dropout_->epoch; }
  std::uint32_t first_step() const { return first_step_; }  ///< that is planned
  std::int64_t rows() const { return rows_; }               ///< of the epoch, in this process
  /// Of these rows, [rows] on the device; undefined: all are 1.
  const torch::Tensor& weights() const { return weights_; }
  /// Groups that have rows, or one without.
  const std::vector<WorkerGroup>& groups_of(std::uint32_t step) const {
    return groups_[step - first_step_];
  }
  /// Rows of a step's largest pass, and of the smallest that they could be parted into: batch norm
  /// needs all rows of a worker, or of a group of workers.
  std::int64_t largest_pass(std::uint32_t step) const;
  std::int64_t smallest_pass(std::uint32_t step) const;
  /// Examples of a step, of all workers of the run.
  std::uint64_t examples_in(std::uint32_t step) const { return plan_->examples_in(step); }

  /// Lets dropout draw the masks of this step from here on, on a GPU by work on the current stream.
  void begin_step(std::uint32_t step);
  /// Tells dropout layers whose rows the next batch has.
  void set_dropout_rows(const WorkerGroup& group, std::uint32_t step);
  /// As they were told; none if the model has no dropout.
  std::span<const models::DropoutPlan::Slice> dropout_slices() const;
  /// Does both, and tells all other layers that need to know. Workers outside the group have no
  /// rows, and so keep their statistics.
  void set_layout(const WorkerGroup& group, std::uint32_t step);
  const models::WorkerLayout& layout() const { return *layout_; }

  /// Where batches come to the device in turn: what is started from here on finds the next one.
  void bring_batch();
  /// The forward pass of a group with the feed's next batch: what training minimises, of every
  /// example, times its weight. Its signals are collected; they do not know of weights.
  torch::Tensor forward_losses(const WorkerGroup& group, std::uint32_t step);
  /// Adds the gradients of a loss to those of the parameters.
  void backward(const torch::Tensor& loss);

  /// The signals of the epoch's first rows, [SignalSet::size(), rows], on the host.
  torch::Tensor collected(std::int64_t rows) const;

 private:
  feed::Batch next_batch();
  std::vector<WorkerGroup> group_workers(std::uint32_t step, std::int64_t first_row) const;
  std::uint32_t end_of_norm_group(std::uint32_t worker) const;
  std::int64_t rows_of(std::uint32_t first, std::uint32_t end, std::uint32_t step) const;
  void set_norm_layout(const WorkerGroup& group, std::uint32_t step);

  EpochPassesSpec spec_;
  models::TaskLosses losses_;
  std::shared_ptr<models::WorkerLayout> layout_;
  std::shared_ptr<models::DropoutPlan> dropout_;
  bool has_dropout_ = false;
  /// Epoch and step whose masks a GPU draws.
  std::optional<std::pair<std::uint32_t, std::uint32_t>> begun_;
  models::SharedSums* sums_ = nullptr;
  const placement::StepPlan* plan_ = nullptr;
  std::span<const float> example_weights_;
  torch::Tensor weights_;
  std::vector<std::vector<WorkerGroup>> groups_;  ///< of the steps since first_step_
  std::uint32_t first_step_ = 0;
  std::int64_t rows_ = 0;
  torch::Tensor collected_;
};

}  // namespace impart::train

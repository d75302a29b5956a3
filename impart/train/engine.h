#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <torch/types.h>

#include "impart/comm/communicator.h"
#include "impart/comm/device_sum.h"
#include "impart/config/config.h"
#include "impart/feed/feed.h"
#include "impart/models/classifier.h"
#include "impart/models/layers/dropout.h"
#include "impart/models/layers/worker_batch_norm.h"
#include "impart/placement/hosted_workers.h"
#include "impart/placement/step_plan.h"
#include "impart/store/ledger.h"
#include "impart/train/batch_signals.h"
#include "impart/train/device_steps.h"
#include "impart/train/device_update.h"
#include "impart/train/flat_parameters.h"
#include "impart/train/gradient_sum.h"
#include "impart/train/half_weights.h"
#include "impart/train/optimizer.h"

namespace impart::train {

struct EngineSpec {
  config::RunConfig config;
  std::shared_ptr<models::Classifier> model;  ///< initialised, on its device
  feed::Feed* feed = nullptr;                 ///< training data; must outlive the engine
  placement::OwnRows own = {};                ///< that the config may name
  bool collect_signals = true;                ///< false only to measure what collecting costs
};

/// Runs training steps for the workers that this process hosts. They share one model and are run
/// together: their batches are stacked into one tensor, batch norm keeps them apart, and the loss
/// is the sum over all workers' examples of the step divided by their number, so one backward pass
/// and one all-reduce give the gradient that separate replicas would have averaged.
///
/// `reduce: exact` runs worker by worker on one thread and adds up their gradients in an order that
/// does not matter, which makes the weights the same bits for every number of processes.
/// `sync: K | epoch` gives every worker weights and an optimiser of its own and averages the
/// weights now and then.
///
/// On a GPU, steps that take one pass over the model and end with the same weights for all workers
/// leave the rest to DeviceUpdate, if the process is alone or NCCL sums the gradients; and those
/// whose examples are all on the device are recorded once and then replayed: see DeviceSteps.
class Engine {
 public:
  Engine(EngineSpec spec, comm::Communicator& communicator);

  /// Gets ready for an epoch that starts, or goes on, with `first_step`: tells the feed what it
  /// will be asked for and makes room for signals. The plan must live until the end of the epoch.
  void begin_epoch(const placement::StepPlan& plan, std::uint32_t epoch, std::uint32_t first_step);

  /// One step with this learning rate. No host work per example, no waiting for the device.
  /// Collective: every process calls it, in the same order.
  void run_step(std::uint32_t step, double learning_rate);

  /// Ends the epoch: models that are apart are averaged.
  /// Collective: every process calls it, in the same order.
  void end_epoch();

  /// The signals of the steps since begin_epoch, [SignalSet::size(), rows], on the host; rows as in
  /// visits_of.
  torch::Tensor collected_signals() const;
  const SignalSet& signals() const { return signal_set_; }

  /// Sets the statistics that evaluation normalises with from those of all workers.
  /// Collective: every process calls it, in the same order.
  void collapse_statistics();

  /// The loss of every example under the current model, in evaluation mode and without
  /// augmentation; each process computes those of its workers' parts.
  /// Collective: every process calls it, in the same order.
  std::vector<float> inference_losses(const placement::Partition& partition);

  models::Classifier& model() { return *spec_.model; }
  const placement::HostedWorkers& hosted() const { return hosted_; }
  torch::Device device() const { return spec_.feed->device(); }

  /// Where the time of this process's steps went since it was last reset; on a GPU, where steps are
  /// only started, the time it took to start them.
  store::PhaseSeconds& seconds() { return seconds_; }

  /// All that a checkpoint must keep besides the model's own state: named tensors on the host,
  /// those of all workers of the run. Collective: every process calls it, in the same order.
  std::vector<std::pair<std::string, torch::Tensor>> gather_state();
  /// The reverse, after the model's own state was loaded; DataError if a tensor is missing.
  void restore_state(const std::function<torch::Tensor(const std::string&)>& find);

 private:
  /// The weights and optimiser of one worker, where workers have their own.
  struct Replica {
    torch::Tensor values;
    Optimizer optimizer;
  };
  /// Consecutive hosted workers whose batches go through the model together.
  struct Group {
    std::uint32_t first = 0, count = 0;  ///< hosted workers, from 0
    std::int64_t row = 0, rows = 0;      ///< in the epoch's list of visits
  };

  void start_worker_statistics();
  void start_device_steps();
  bool can_update_on_device() const;
  std::int64_t most_rows() const;
  void run_recorded_step(std::uint32_t step, double learning_rate);
  std::vector<Group> group_workers(std::uint32_t step, std::int64_t first_row) const;
  const std::vector<Group>& groups_of(std::uint32_t step) const {
    return groups_[step - first_step_];
  }
  void set_layout(const Group& group, std::uint32_t step);
  void run_device_step(std::uint32_t step, double learning_rate);
  /// What training minimises, of every example.
  torch::Tensor forward_losses(const Group& group, std::uint32_t step);
  void run_backward(const torch::Tensor& loss);
  void run_shared_step(std::uint32_t step, double learning_rate);
  void run_exact_step(std::uint32_t step, double learning_rate);
  void run_local_step(std::uint32_t step, double learning_rate);
  void average_replicas();
  bool is_local() const { return spec_.config.workers.sync.kind != config::SyncRule::Kind::kStep; }
  bool is_exact() const {
    return spec_.config.workers.reduce == config::WorkersConfig::Reduce::kExact;
  }
  std::vector<float> gather_by_example(std::span<const float> mine, const placement::Parts& parts);
  torch::Tensor gather_rows(const torch::Tensor& hosted_rows);

  EngineSpec spec_;
  comm::Communicator& communicator_;
  placement::HostedWorkers hosted_;
  SignalSet signal_set_;
  std::shared_ptr<models::WorkerLayout> layout_;
  std::shared_ptr<models::DropoutPlan> dropout_;
  FlatParameters parameters_;
  std::unique_ptr<HalfWeights> half_weights_;  ///< for `precision: bf16`
  Optimizer optimizer_;
  GradientSum gradient_sum_;
  std::unique_ptr<comm::DeviceSum> device_sum_;  ///< where GPUs sum among themselves
  std::unique_ptr<DeviceUpdate> device_update_;  ///< where a kernel ends the steps
  std::vector<Replica> replicas_;
  std::unique_ptr<DeviceSteps> device_steps_;  ///< where steps can be recorded

  const placement::StepPlan* plan_ = nullptr;
  std::vector<std::vector<Group>> groups_;  ///< of the steps since first_step_
  std::uint32_t first_step_ = 0;
  torch::Tensor collected_;
  std::int64_t next_row_ = 0;
  store::PhaseSeconds seconds_;
};

}  // namespace impart::train

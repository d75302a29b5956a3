#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <torch/types.h>

#include "impart/comm/communicator.h"
#include "impart/config/config.h"
#include "impart/feed/feed.h"
#include "impart/models/classifier.h"
#include "impart/placement/hosted_workers.h"
#include "impart/placement/step_plan.h"
#include "impart/train/batch_signals.h"
#include "impart/train/costs/phase_clock.h"
#include "impart/train/passes/forward_pass.h"
#include "impart/train/run_statistics.h"
#include "impart/train/steps/epoch_passes.h"
#include "impart/train/steps/step.h"
#include "impart/train/update/flat_parameters.h"
#include "impart/train/update/half_weights.h"
#include "impart/train/update/optimizer.h"

namespace impart::train {

struct EngineSpec {
  config::RunConfig config;
  std::shared_ptr<models::Classifier> model;  ///< initialised, on its device
  feed::Feed* feed = nullptr;                 ///< training data; must outlive the engine
  placement::OwnRows own = {};                ///< that the config may name
  bool collect_signals = true;                ///< false only to measure what collecting costs
  std::function<void(const std::string&)> note = {};  ///< told what a user should know, if set
};

/// Runs training steps for the workers that this process hosts. They share one model and are run
/// together: their batches are stacked into one tensor, batch norm keeps them apart, and the loss
/// is the sum over all workers' examples of the step divided by their number, so one backward pass
/// and one all-reduce give the gradient that separate replicas would have averaged.
///
/// How the weights change is the step's (steps/): there is one class for each kind.
class Engine {
 public:
  Engine(EngineSpec spec, comm::Communicator& communicator);

  /// Gets ready for an epoch that starts, or goes on, with `first_step`: tells the feed what it
  /// will be asked for and makes room for signals. A step's gradient is Σ weight · gradient / rows;
  /// `weights` are of all examples, none: all are 1. They and the plan must live until the end of
  /// the epoch.
  void begin_epoch(const placement::StepPlan& plan, std::uint32_t epoch, std::uint32_t first_step,
                   std::span<const float> weights = {});

  /// One step with this learning rate. No host work per example, no waiting for the device.
  /// Collective: every process calls it, in the same order.
  void run_step(std::uint32_t step, double learning_rate);

  /// Ends the epoch: models that are apart are averaged.
  /// Collective: every process calls it, in the same order.
  void end_epoch() { step_->end_epoch(); }

  /// When models that are apart became one in this epoch, also before the run went on in it.
  std::vector<SyncRecord> syncs() const { return step_->syncs(); }
  void set_syncs(std::vector<SyncRecord> syncs) { step_->set_syncs(std::move(syncs)); }
  /// Lets the model have the weights of one worker, where they are apart, or of none: the common
  /// ones. Collective: every process calls it, in the same order.
  void show_worker(std::optional<std::uint32_t> worker);

  /// The signals of the steps since begin_epoch, [SignalSet::size(), rows], on the host; rows as in
  /// visits_of.
  torch::Tensor collected_signals() const { return step_->collected(next_row_); }
  const SignalSet& signals() const { return signal_set_; }
  /// The mean loss of the steps since begin_epoch, of this process's workers; none before the
  /// first. Waits for the device.
  std::optional<double> running_loss() const;

  /// Sets the statistics that evaluation normalises with from those of all workers.
  /// Collective: every process calls it, in the same order.
  void collapse_statistics() { statistics_.collapse(); }

  /// The loss of every example under the current model: see passes/inference_losses.h.
  /// Collective: every process calls it, in the same order.
  std::vector<float> inference_losses(const placement::Partition& partition);

  /// How much the gradients of the workers' parts differ: see passes/dissimilarity.h.
  /// Collective: every process calls it, in the same order.
  std::optional<double> dissimilarity(const placement::Partition& partition, std::uint32_t epoch);

  /// The signals of listed examples under the current model: see measure_examples.
  /// Collective: every process calls it, in the same order.
  MeasuredExamples measure(const placement::Parts& lists);

  bool has_batch_norm() const { return !statistics_.empty(); }
  /// Rows of running statistics here: one for each group of workers that share them.
  std::uint32_t norm_groups() const { return norms_.count(); }
  /// What this process has sent to share them.
  std::uint64_t statistics_bytes() const { return norms_.bytes_sent(); }

  models::Classifier& model() { return *spec_.model; }
  /// How many numbers the model learns.
  std::uint64_t parameters() { return static_cast<std::uint64_t>(parameters_.values().numel()); }
  const placement::HostedWorkers& hosted() const { return hosted_; }
  torch::Device device() const { return spec_.feed->device(); }

  /// Where the time goes. The engine charges its steps; whoever else does something with the
  /// engine's device says so here.
  PhaseClock& clock() { return clock_; }

  /// All that a checkpoint must keep besides the model's own state: named tensors on the host,
  /// those of all workers of the run. Collective: every process calls it, in the same order.
  NamedTensors gather_state();
  /// The reverse, after the model's own state was loaded; DataError if a tensor is missing.
  void restore_state(const FindTensor& find);

  /// Of that, what is needed to use the model, but not to train it: the workers' statistics.
  NamedTensors gather_statistics();
  void restore_statistics(const FindTensor& find);

 private:
  void run_first_step(std::uint32_t step, double learning_rate);
  bool try_step(std::uint32_t step, double learning_rate);
  void limit_passes(std::int64_t rows);
  bool may_change_steps() const;
  void choose_steps(bool apart);
  EpochPassesSpec passes_spec();
  StepContext step_context();

  EngineSpec spec_;
  comm::Communicator& communicator_;
  placement::HostedWorkers hosted_;
  NormExchange norms_;
  SignalSet signal_set_;
  FlatParameters parameters_;
  RunStatistics statistics_;
  std::unique_ptr<HalfWeights> half_weights_;  ///< for `precision: bf16`
  Optimizer optimizer_;
  PhaseClock clock_;
  EpochPasses passes_;
  bool apart_;  ///< every worker trains weights of its own at present
  std::unique_ptr<Step> step_;
  std::int64_t next_row_ = 0;  ///< of the epoch, after the steps that were run
  bool has_fitted_ = false;    ///< a step has shown that the passes fit into memory
};

}  // namespace impart::train

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "impart/comm/communicator.h"
#include "impart/placement/placement.h"
#include "impart/run/run_directory.h"
#include "impart/train/costs/run_costs.h"
#include "impart/train/diverged.h"
#include "impart/train/engine.h"
#include "impart/train/epoch_selection.h"
#include "impart/train/epoch_visits.h"
#include "impart/train/output/run_results.h"
#include "impart/train/output/run_teller.h"
#include "impart/train/run.h"
#include "impart/train/run_data.h"
#include "impart/train/run_evaluation.h"
#include "impart/train/run_stores.h"

namespace impart::train {

/// One run, epoch by epoch: places examples, trains, collects signals, evaluates, records and
/// checkpoints. What happens inside a step is Engine's, what is decided Placement's.
class Trainer {
 public:
  using Clock = std::chrono::steady_clock;

  /// Goes on from a checkpoint folder, or from the start if that is "". DataError if the checkpoint
  /// does not fit.
  Trainer(const RunSpec& spec, comm::Communicator& communicator, const RunObserver& observer,
          RunData data, const std::string& checkpoint);

  /// Runs until the last epoch is done, stop.at or stop.patience ends it, a stop is requested, or
  /// it has diverged. The process that
  /// writes brings the run directory, the others null. The run `began` when its data was read.
  /// Collective: every process calls it, in the same order.
  RunOutcome run(const run::RunDirectory* directory, Clock::time_point began);

 private:
  /// The epoch under way.
  struct Epoch {
    Clock::time_point started = Clock::now();
    std::optional<placement::PlacementChange> change = {};  ///< before it
    const placement::StepPlan* plan = nullptr;
    std::vector<float> later_visits = {};      ///< expected of each example, if caches look at them
    double last_rate = 0;                      ///< that the last step learned with
    std::optional<double> dissimilarity = {};  ///< after it, where it is due
    std::vector<double> worker_scores = {};
  };
  struct EpochSeconds {
    double training = 0, all = 0;
  };

  void restore(const std::string& checkpoint);
  RunStart describe_start() const;

  void prepare_epoch();
  void decide_partition();
  void note_skewed_norms();
  void move_examples();
  void settle_stores();

  bool train_epoch();  ///< false: stopped early
  void select_visits();
  void plan_caches();
  bool agree_to_stop();
  bool is_true_anywhere(bool here);

  void finish_epoch();
  void track_visits();
  void refresh_hidden();
  void measure_dissimilarity();

  void note_seconds();
  EpochSeconds count_costs();
  run::WeightCosts count_weight_sums() const;
  void tell_epoch(const std::optional<data::TestOutcome>& outcome, const EpochSeconds& seconds);
  void tell_steps();
  void note_divergence();
  void note_bad_worker(const Diverged& reason);
  void note_load();
  void note_stop(const data::TestOutcome& outcome);
  void note_threads(int before) const;
  void report(std::string_view phase) const;

  void write_checkpoint();
  trained::ModelCard card_now() const;
  void show_images();
  RunOutcome finish(bool preempted);

  bool is_over() const { return position_.epoch >= config_.epochs || summary_.stopped_at; }
  bool must_stop_diverged() const { return config_.train.stop_on_nan && summary_.diverged_at; }

  const RunSpec& spec_;
  const config::RunConfig& config_;
  comm::Communicator& communicator_;
  RunData data_;
  placement::Placement placement_;
  Engine engine_;
  EpochSelection selection_;
  EpochVisits visits_;
  RunStores stores_;
  RunEvaluation evaluation_;
  RunCosts costs_;
  RunResults results_;
  RunTeller teller_;

  run::RunSummary summary_;
  Position position_;
  Epoch epoch_;
  bool stopping_ = false;
  std::string diverged_;  ///< why the run ends in the middle of an epoch; or ""
};

}  // namespace impart::train

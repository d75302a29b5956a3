#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "impart/comm/communicator.h"
#include "impart/placement/placement.h"
#include "impart/run/gather_visits.h"
#include "impart/run/run_recorder.h"
#include "impart/train/device_evaluation.h"
#include "impart/train/engine.h"
#include "impart/train/evaluation.h"
#include "impart/train/run.h"
#include "impart/train/run_data.h"

namespace impart::train {

/// One run, epoch by epoch: places examples, trains, collects signals, evaluates, records and
/// checkpoints. What happens inside a step is Engine's, what is decided Placement's.
class Trainer {
 public:
  Trainer(const RunSpec& spec, comm::Communicator& communicator, const RunObserver& observer,
          RunData data);

  /// Goes on from a checkpoint folder. DataError if it does not fit.
  void restore(const std::string& checkpoint);
  /// Runs until the last epoch is done or a stop is requested.
  /// Collective: every process calls it, in the same order.
  RunOutcome run();

 private:
  using Clock = std::chrono::steady_clock;

  /// Where the run is; what a checkpoint keeps besides tensors, table and partition.
  struct Position {
    std::uint32_t epoch = 0;
    std::uint32_t step = 0;         ///< next step of the epoch
    std::uint64_t total_steps = 0;  ///< of the run
  };

  void prepare_epoch();
  void move_examples();
  void settle_store();
  bool train_epoch();  ///< false: stopped early
  bool agree_to_stop();
  void observe_epoch();
  void finish_epoch(double seconds_train);
  Evaluation evaluate_model(std::uint32_t epoch);
  void record_epoch(const std::optional<Evaluation>& evaluation, double seconds_train);
  void note_result(const Evaluation& evaluation, std::uint32_t epoch);
  std::optional<double> bits_per_byte(const Evaluation& evaluation) const;
  bool is_language() const { return data_.text && data_.text->train.is_corpus(); }
  void write_checkpoint();
  run::Visits gather_epoch_visits();
  void gather_skipped();
  std::vector<store::StorageCost> take_storage_costs();
  void record_costs();
  RunOutcome finish(bool preempted);
  void write_results();
  void report(std::string_view phase) const;
  bool is_writer() const { return communicator_.rank() == 0; }
  double learning_rate_now() const;

  const RunSpec& spec_;
  const config::RunConfig& config_;
  comm::Communicator& communicator_;
  const RunObserver& observer_;
  RunData data_;
  placement::Placement placement_;
  Engine engine_;
  std::unique_ptr<DeviceEvaluation> device_evaluation_;  ///< where the test data is on a GPU
  std::unique_ptr<run::RunRecorder> recorder_;           ///< on the process that writes

  Position position_;
  std::unique_ptr<placement::StepPlan> plan_;
  std::uint32_t first_step_ = 0;  ///< of this process's part of the epoch
  run::Visits earlier_;           ///< of the current epoch, made before the run was interrupted
  std::optional<placement::PlacementChange> change_;
  double train_loss_ = 0, train_accuracy_ = 0, last_rate_ = 0;
  std::uint64_t non_finite_ = 0;  ///< visits of the epoch
  bool stopping_ = false;
  std::optional<Evaluation> last_evaluation_;
  run::RunSummary summary_;
  std::vector<bool> skipped_;        ///< examples left out in this epoch; empty if there are none
  std::uint64_t skipped_count_ = 0;  ///< of them
  bool settled_ = false;             ///< the store has the current partition
  comm::Traffic counted_;            ///< of the communicator, in the ledger already
  store::PhaseSeconds seconds_;      ///< of the epoch, besides the engine's
  Clock::time_point started_ = Clock::now();
  Clock::time_point epoch_started_ = Clock::now();
  std::uint64_t examples_trained_ = 0;  ///< since started_
};

}  // namespace impart::train

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "impart/comm/communicator.h"
#include "impart/data/datasets.h"
#include "impart/train/engine.h"
#include "impart/train/evaluation.h"
#include "impart/train/metrics_log.h"
#include "impart/train/placement.h"
#include "impart/train/run.h"
#include "impart/train/tensorboard.h"

namespace impart {

/// One run, epoch by epoch: places examples, trains, collects signals, evaluates, records and
/// checkpoints. What happens inside a step is Engine's, what is decided Placement's.
class Trainer {
 public:
  Trainer(const RunSpec& spec, Communicator& communicator, const RunObserver& observer,
          ImageData data);

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
  /// Visits of the current epoch that were made before the run was interrupted.
  struct EarlierVisits {
    std::vector<ExampleId> ids;
    std::vector<float> values;  ///< [signals, ids]
  };

  void prepare_epoch();
  bool train_epoch();  ///< false: stopped early
  bool agree_to_stop();
  void observe_epoch();
  void finish_epoch(double seconds_train);
  Evaluation evaluate_model(std::uint32_t epoch);
  void record_epoch(const std::optional<Evaluation>& evaluation, double seconds_train);
  void write_checkpoint();
  void gather_visits(std::vector<ExampleId>& ids, std::vector<float>& values);
  RunOutcome finish(bool preempted);
  void write_results();
  void report(std::string_view phase) const;
  bool is_writer() const { return communicator_.rank() == 0; }
  double learning_rate_now() const;

  const RunSpec& spec_;
  const RunConfig& config_;
  Communicator& communicator_;
  const RunObserver& observer_;
  ImageSet train_set_, test_set_;
  torch::Device device_;
  DeviceImages test_images_;
  Placement placement_;
  Engine engine_;
  std::unique_ptr<MetricsLog> metrics_;
  std::unique_ptr<EventWriter> events_;

  Position position_;
  std::unique_ptr<StepPlan> plan_;
  std::uint32_t first_step_ = 0;  ///< of this process's part of the epoch
  EarlierVisits earlier_;
  std::optional<PlacementChange> change_;
  double train_loss_ = 0, train_accuracy_ = 0, last_rate_ = 0;
  std::uint64_t non_finite_ = 0;  ///< visits of the epoch
  bool stopping_ = false;
  std::optional<Evaluation> last_evaluation_;
  RunSummary summary_;
  std::uint64_t earlier_bytes_ = 0;  ///< sent before the run was resumed
  Clock::time_point started_ = Clock::now();
  Clock::time_point epoch_started_ = Clock::now();
  std::uint64_t examples_trained_ = 0;  ///< since started_
};

}  // namespace impart

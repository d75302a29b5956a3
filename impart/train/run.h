#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "impart/comm/communicator.h"
#include "impart/config/config.h"
#include "impart/data/task.h"
#include "impart/run/summary.h"

namespace impart::models {
class Classifier;
}  // namespace impart::models
namespace impart::feed {
struct LoadedData;
struct OwnData;
}  // namespace impart::feed

namespace impart::train {

/// How far a run is, for a progress line.
struct RunProgress {
  std::string_view phase;  ///< "train", "evaluate", "repartition", "exchange", "checkpoint"
  std::uint32_t epoch = 0, epochs = 0;
  std::uint32_t step = 0, steps = 0;
  double examples_per_second = 0;  ///< of the run so far, while training
  double seconds_left = 0;         ///< at that speed
  /// The mean loss of this epoch so far, of the workers of process 0; none before its first step.
  /// On a GPU it waits for the steps under way, so it is asked for only now and then.
  std::function<std::optional<double>()> running_loss = {};
  data::Task task = data::kClasses;  ///< that is learned
  std::optional<double> score;       ///< of the last evaluation, by the task's metric
};

/// What is about to be trained.
struct RunStart {
  std::uint32_t epoch = 0, epochs = 0;  ///< the first epoch, more than 0 in a run that goes on
  std::uint64_t examples = 0;
  std::uint32_t workers = 0, processes = 0;
  std::string device;  ///< "cpu", "cuda:0"
};

/// A new partition, or an exchange, before an epoch.
struct PartitionReport {
  std::uint32_t epoch = 0;
  std::string event;  ///< "random", "heuristic", "exchange"
  std::uint64_t moved = 0, messages = 0;
};

/// What one epoch came to, as in metrics.jsonl.
struct EpochReport {
  std::uint32_t epoch = 0, epochs = 0;
  double train_loss = 0, train_accuracy = 0;
  std::optional<double> test_loss, test_accuracy;
  data::Task task = data::kClasses;  ///< that is learned
  std::optional<double> score;       ///< of the test examples, by the task's metric
  double learning_rate = 0;          ///< of its last step
  double seconds = 0, seconds_train = 0;
  std::string event;  ///< what happened to the partition before it; "" if nothing
};

/// Told what happens; only on process 0. Empty members are not called.
struct RunObserver {
  std::function<void(const RunStart&)> start = {};
  std::function<void(const RunProgress&)> progress = {};
  std::function<void(const PartitionReport&)> partition = {};
  std::function<void(const EpochReport&)> epoch = {};
  std::function<void(const std::string&)> note = {};
};

/// One run, and what a program brings along for it.
struct RunSpec {
  config::RunConfig config;      ///< valid; `output` is the run directory
  std::string config_text = {};  ///< the config as it goes into config.yaml: to_yaml(config)
  std::string config_hash = {};  ///< a resumed run must have the same: config_hash(config)
  bool overwrite = false;        ///< delete a run that is in the output already
  bool resume = false;           ///< go on from the newest whole checkpoint, or from the start
  /// Asked after every step; true: checkpoint and stop.
  std::function<bool()> stop_requested = {};

  /// What a program brings along. The config's names of it are only recorded: two models of one
  /// name have the same config_hash.
  placement::OwnRows own = {};  ///< heuristics, exchanges and notions that the config may name
  /// Trained instead of a model from the table, from the parameters it has; null: the config's.
  /// After the run it is the trained model. See own_model.h for what it may have.
  std::shared_ptr<models::Classifier> own_model = nullptr;
  /// Called once on every process, which all must get the same; empty: the config's data set.
  std::function<feed::OwnData()> own_data = {};
  /// Reads the config's data set, such as DataCache::load; empty: load_run_data.
  std::function<feed::LoadedData(const config::RunConfig&)> load_data = {};
};

/// How a run ended.
struct RunOutcome {
  run::RunSummary summary;
  data::Task task = data::kClasses;  ///< whose metric the results are
  bool preempted = false;
  std::string failure = {};  ///< why it ended before its last epoch: it diverged; "" if it did not
};

/// Trains a model as the config says and leaves a run directory. IoError, DataError, ConfigError;
/// if training had started, the directory then says FAILED and why. Collective: every process calls
/// it, in the same order.
RunOutcome run_training(const RunSpec& spec, comm::Communicator& communicator,
                        const RunObserver& observer);

}  // namespace impart::train

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impart/comm/communicator.h"
#include "impart/run/run_directory.h"
#include "impart/run/run_recorder.h"
#include "impart/train/output/run_progress.h"
#include "impart/train/run.h"
#include "impart/train/steps/step.h"

namespace impart::train {

/// What the steps of an epoch leave for plots.
struct StepTrace {
  std::uint64_t epoch_began = 0;  ///< steps of the run before the epoch
  std::uint32_t first_step = 0;   ///< of the epoch that was run since the run began or went on
  std::span<const double> losses;
  std::function<double(std::uint32_t step)> learning_rate;
  std::vector<SyncRecord> syncs;  ///< of the whole epoch
};

/// Tells what happens in a run: the files of its directory, who watches it, and the processes that
/// wait for this one. All of it is process 0's but the last, so the others may call everything.
class RunTeller {
 public:
  /// What is passed must outlive it. The run's own time begins here.
  RunTeller(const RunSpec& spec, comm::Communicator& communicator, const RunObserver& observer,
            const data::Task& task, std::uint64_t examples);

  /// From now on it writes, behind this position: the process that does brings the directory, the
  /// others null.
  void open(const run::RunDirectory* directory, const Position& position, const RunStart& start);
  bool writes() const { return directory_ != nullptr; }
  /// Before anything is written: a folder that is gone would be made anew, and seem whole. IoError.
  void check_directory() const;

  /// What a user should know.
  void note(const std::string& sentence) const;
  /// What is done now. `steps` is the number of the epoch's, 0 if that is not known yet.
  void report(std::string_view phase, const Position& position, std::uint32_t steps,
              std::function<std::optional<double>()> running_loss) const;
  void count_trained(std::uint64_t examples) { progress_.count_trained(examples); }
  double seconds() const { return progress_.seconds(); }  ///< since it was made

  void change(std::uint32_t epoch, const placement::PlacementChange& change,
              const placement::Partition& partition);
  void costs(const run::LedgerEpoch& line);
  /// `score` is the last evaluation's, by the task's metric; `is_new` if it is this epoch's.
  void epoch(const run::EpochRecord& record, std::optional<double> score, bool is_new);
  void steps(const StepTrace& trace);
  void images(std::uint32_t epoch, std::span<const run::ImageRecord> images);

 private:
  const RunSpec& spec_;
  comm::Communicator& communicator_;
  const RunObserver& observer_;
  const run::RunDirectory* directory_ = nullptr;  ///< on the process that writes
  std::unique_ptr<run::RunRecorder> recorder_;    ///< there, too
  const data::Task& task_;
  ProgressReporter progress_;
};

}  // namespace impart::train

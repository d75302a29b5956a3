#pragma once

#include <cstdint>
#include <optional>

#include "impart/data/task.h"
#include "impart/run/run_files.h"
#include "impart/run/run_recorder.h"
#include "impart/run/summary.h"

namespace impart::train {

/// What a run is judged by, epoch after epoch. Which numbers these are, and what is better, its
/// task says.
class RunResults {
 public:
  explicit RunResults(const data::Task& task) : task_(task) {}

  const data::Task& task() const { return task_; }

  /// The results of the epoch's evaluation, also the run's final and, if so, best ones so far.
  void note(const data::TestOutcome& outcome, std::uint32_t epoch, run::RunSummary& summary);
  /// Adds them to the epoch's record.
  void add_to(run::EpochRecord& result, const data::TestOutcome& outcome) const;

  /// By the task's metric, of the last evaluation.
  std::optional<double> last_score() const { return last_score_; }

 private:
  data::Task task_;
  std::optional<double> last_score_;
};

}  // namespace impart::train

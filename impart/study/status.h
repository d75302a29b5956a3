#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "impart/study/record.h"
#include "impart/study/state.h"

namespace impart::study {

// A study at a glance. Means here are for watching: what may be claimed is for the report to say.

/// How many runs are in which state.
struct RunCounts {
  std::size_t waiting = 0, running = 0, stopped = 0, done = 0, failed = 0;
  std::size_t total() const { return waiting + running + stopped + done + failed; }
  void add(Standing state);
};

struct ArmStatus {
  std::string name;
  bool is_baseline = false;
  RunCounts counts;
  std::optional<double> mean;       ///< of the metric over the runs that are done
  std::optional<double> deviation;  ///< sample standard deviation, from two runs on
  /// Mean of this arm minus the baseline, over the seeds both have.
  std::optional<double> difference;
};

/// Runs that may be compared with each other: the grid, one rung of a search, or its confirmation.
struct StageStatus {
  RunPurpose purpose = RunPurpose::kGrid;
  std::uint32_t epochs = 0;  ///< 0 if the arms differ in it
  RunCounts counts;
  std::vector<ArmStatus> arms;  ///< those that take part, in the order of the study
  /// Index of the arm with the best mean. It was chosen by the numbers it shows.
  std::optional<std::size_t> best;
};

struct StudyStatus {
  RunCounts counts;
  std::vector<StageStatus> stages;  ///< in their order; at least one
};

/// `reports` belong to record.runs, one by one.
StudyStatus summarise(const StudyRecord& record, std::span<const RunReport> reports);

/// Seconds until all runs of the record are done, by what finished ones took per epoch (those of
/// the same arm if there are any), `jobs` at a time. Empty before the first has finished.
std::optional<double> seconds_left(const StudyRecord& record, std::span<const RunReport> reports,
                                   std::size_t jobs);

}  // namespace impart::study

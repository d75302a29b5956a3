#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "impart/study/results_file.h"
#include "impart/study/runner.h"

namespace impart::study {

/// The runs of a study and how far each is: what its directory and its file of results say, and
/// which runs follow from that. What belongs to another configuration is refused, or moved aside if
/// that was asked for; it is never mixed with what belongs to this one.
class KnownRuns {
 public:
  /// All of them outlive it.
  KnownRuns(const StudyPlan& plan, const RunnerSpec& spec, const StudyObserver& observer)
      : plan_(plan), spec_(spec), observer_(observer) {}

  /// Before all else. ConfigError if the study there was planned otherwise, or the file of results
  /// has rows of another configuration.
  void open();

  /// Reads what there is, and finds out which runs follow from it. What this process has seen of
  /// the runs stays: their number only grows, in the same order.
  void learn();

  /// Reads again what a run has left behind.
  const RunReport& look_at(std::size_t run);

  /// A row for each run that is done and has none.
  void keep_results();

  std::size_t size() const { return reports_.size(); }
  const StudyRecord& record() const { return record_; }
  std::span<const RunReport> reports() const { return reports_; }
  RunReport& report(std::size_t run) { return reports_[run]; }

  std::string folder_of(std::size_t run) const;
  /// Whether it is for this process, and not for another task of the array.
  bool is_mine(std::size_t run) const { return !spec_.task || spec_.task->has(run); }
  bool was_tried(std::size_t run) const { return tried_[run]; }
  void note_try(std::size_t run) { tried_[run] = true; }

 private:
  void keep_to_planned_looks() const;
  void open_results();
  void move_misfits_aside();
  RunReport inspect(const StudyRun& run) const;
  void note(const std::string& text) const {
    if (observer_.note) observer_.note(text);
  }

  const StudyPlan& plan_;
  const RunnerSpec& spec_;
  const StudyObserver& observer_;
  std::optional<ResultsFile> results_;
  StudyRecord record_;
  std::vector<RunReport> reports_;  ///< of record_.runs
  std::vector<bool> tried_;         ///< of record_.runs: started by this process
};

}  // namespace impart::study

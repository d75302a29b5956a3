#pragma once

#include <optional>
#include <string>
#include <vector>

#include "impart/study/plan.h"
#include "impart/study/result_table.h"
#include "impart/study/state.h"

namespace impart::study {

/// The CSV file that a study keeps its results in and goes on from. Rewritten whole after each
/// finished run; nobody else may write it meanwhile.
class ResultsFile {
 public:
  /// Reads the file if there is one. DataError if it is damaged; ConfigError if its rows lack the
  /// metric of `record`.
  ResultsFile(std::string path, const StudyRecord& record);

  /// ConfigError if the study was planned to look at its results at other numbers of seeds, or an
  /// arm cannot stand in a line.
  void check_plan(const StudyPlan& plan) const;

  /// "FILE:LINE: …" of each row that is no run of the plan as it is now.
  std::vector<std::string> stale_rows(const StudyPlan& plan) const;
  /// Leaves out those rows.
  void drop_stale_rows(const StudyPlan& plan);

  /// A run that has a row is done. Absent if it has none.
  std::optional<RunReport> report_of(const StudyRun& run) const;

  /// Adds a finished run by its run directory.
  void add(const StudyRun& run, const std::string& folder);

  /// DataError if somebody else has changed the file since it was read or written; IoError.
  void write();

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  ResultTable table_;
  std::vector<std::uint64_t> looks_before_;  ///< that the file's study planned
  std::string on_disk_;                      ///< text of the file; empty if there is none
};

/// As state.h has it, but what `results` has needs no run directory. `results` may be null.
RunReport inspect_run(const ResultsFile* results, const std::string& directory, const StudyRun& run,
                      const std::string& metric);

}  // namespace impart::study

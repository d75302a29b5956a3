#pragma once

#include <memory>
#include <string>
#include <vector>

#include "impart/study/record.h"
#include "impart/study/results_file.h"
#include "impart/study/state.h"

namespace impart::cli {

/// The study of a directory and how its runs are. A run without an end counts as running while a
/// process runs the study, or that run.
struct StudyLook {
  std::string directory;
  study::StudyRecord record;
  std::vector<study::RunReport> reports;
  bool is_running = false;
};
/// `results` is a file that may have runs without a directory; "" for none.
StudyLook look_at_study(const std::string& directory, const std::string& results);

/// nullptr for "".
std::unique_ptr<study::ResultsFile> open_results(const std::string& path,
                                                 const study::StudyRecord& record);

/// Prints tables, failures with their reasons, and what a search has come to.
void print_status(const StudyLook& look);

/// Prints the same as one JSON object.
void print_status_json(const StudyLook& look);

}  // namespace impart::cli

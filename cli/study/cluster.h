// impart study on a cluster: --array, what one task of a job array does, and --launcher.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "impart/study/array.h"
#include "impart/study/launcher.h"
#include "impart/study/plan.h"
#include "impart/study/runner.h"

namespace CLI {
class App;
}

namespace impart::cli {

struct ClusterOptions {
  std::string array;  ///< see study::read_array_task; "true" for its "", and "" for none
  std::string launcher = "local";
  std::string sbatch, job_script;

  bool is_array() const { return !array.empty(); }
  bool is_local() const { return launcher == "local"; }
};
/// `options` must outlive the command.
void add_cluster_options(CLI::App& command, ClusterOptions& options);

/// What else is asked for, as far as it does not go with everything here.
struct OtherWishes {
  bool jobs_are_found = false;  ///< --jobs auto
  bool keeps_results = false;   ///< --results
  std::span<const std::string> settings = {};
};
/// ConfigError if options contradict each other.
void check_cluster(const ClusterOptions& options, const OtherWishes& others);

study::MakeLauncher* launcher_of(const ClusterOptions& options);

/// Absent if there is no --array. ConfigError if this is no task of an array.
std::optional<study::ArrayTask> task_of(const ClusterOptions& options);

/// ConfigError if the study's runs are not known beforehand, or it has none for the task.
void check_task(const study::ArrayTask& task, const study::StudyPlan& plan);

/// "0-5", for so many runs.
std::string array_range(std::size_t runs);

/// The indices of runs that are not done, as sbatch --array takes them; those of failed ones only
/// if they are to be tried again. Touches nothing.
void print_open_indices(const study::StudyPlan& plan, bool retry);

/// What became of the task's runs.
void print_task_end(const study::ArrayTask& task, const study::StudyPlan& plan,
                    const study::StudyOutcome& outcome);

/// Options that are written as one text, with quotes around what has blanks. ConfigError.
std::vector<std::string> split_words(const std::string& text);

}  // namespace impart::cli

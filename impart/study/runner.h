#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "impart/study/array.h"
#include "impart/study/launcher.h"
#include "impart/study/plan.h"
#include "impart/study/state.h"

namespace impart::study {

struct RunnerSpec {
  std::string program;  ///< path of the engine: it is called as PROGRAM train --resume FOLDER …
  std::string study_text;  ///< what the user wrote; kept as study.yaml
  std::uint32_t jobs = 1;  ///< runs at a time
  bool find_jobs = false;  ///< on a GPU: find out how many are best, instead
  /// Whether PROGRAM serve takes run after run in one process; else each has a process of its own.
  bool serve = false;
  bool retry = false;        ///< start failed runs again
  bool fresh = false;        ///< move runs of another configuration aside, instead of refusing
  std::string results = {};  ///< CSV file of results to go on from and keep; "": none
  MakeLauncher* launcher = launch_here;
  std::vector<std::string> sbatch = {};  ///< see LauncherSpec
  std::string job_script = {};           ///< see LauncherSpec
  /// Only these runs, beside other processes that have others: not with `results`, a search, or
  /// seeds that grow.
  std::optional<ArrayTask> task = {};
  /// How often the user has asked to stop: once lets the runs checkpoint, twice kills them.
  std::function<int()> stop_requests = {};
};

/// How far a study is. The record and its reports belong together, one by one.
struct StudyProgress {
  const StudyRecord& record;
  std::span<const RunReport> reports;
  std::uint32_t jobs = 1;
  bool is_stopping = false;
};

/// Told what happens, from the thread that runs the study. Empty members are not called.
struct StudyObserver {
  std::function<void(const StudyProgress&)> progress;                ///< a few times a second
  std::function<void(const StudyProgress&, std::size_t run)> ended;  ///< index into record.runs
  std::function<void(const std::string&)> note;
};

struct StudyOutcome {
  StudyRecord record;
  std::vector<RunReport> reports;
  std::size_t done = 0, failed = 0;
  std::size_t open = 0;  ///< runs that are still to be done: the study was stopped
  /// Why it stopped by itself: the reason of all runs that it tried, none of which was done.
  std::string hopeless = {};
};  // done, failed and open are those of the task, if there is one

/// Half of the cores, at least 1, and never more than there are runs.
std::uint32_t default_jobs(std::size_t runs);

/// Runs what is not finished yet, and leaves a study directory: study.yaml, study.json and a run
/// directory for every run, with the engine's output in its log.txt.
///
/// The launcher carries the runs out, `jobs` at a time: as processes of this machine, which share
/// the cores, or as jobs of a cluster, with the same results. Every run starts, starts again and
/// goes on in the same way: its config.yaml is written, then the engine resumes it. So the study,
/// too, may be killed at any moment and started again. A run that fails is marked FAILED and does
/// not stop the others; but where all that were tried, five or more, failed for the same reason
/// and no run of the study is done, no further one is begun.
///
/// ConfigError if another process runs this study or the task's run, or a run directory or a row of
/// the results file holds another configuration; DataError if that file is damaged. IoError if the
/// disk is full or the program cannot be started; runs under way are then stopped as if the user
/// had asked for it.
StudyOutcome run_study(const StudyPlan& plan, const RunnerSpec& spec,
                       const StudyObserver& observer);

}  // namespace impart::study

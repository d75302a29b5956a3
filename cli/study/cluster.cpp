#include "cli/study/cluster.h"

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/study/text.h"
#include "cli/terminal/terminal_text.h"
#include "impart/core/error.h"
#include "impart/study/state.h"
#include <CLI/CLI.hpp>

namespace impart::cli {
namespace {

constexpr std::string_view kTaskOfEnvironment = "true";  // what CLI11 makes of a bare flag

study::StudyRecord runs_known_beforehand(const study::StudyPlan& plan) {
  if (!study::can_be_array(plan)) {
    throw ConfigError(
        "--array: which runs a search, or seeds that grow, need follows from the results of "
        "earlier ones, so their number is not known beforehand; --launcher slurm submits them as "
        "they become known");
  }
  return study::unfold(plan, [](const study::StudyRun&) { return study::Finding{}; });
}

}  // namespace

void add_cluster_options(CLI::App& command, ClusterOptions& options) {
  command.add_flag(
      "--array", options.array,
      "run what a task of a job array has: the run of SLURM_ARRAY_TASK_ID, of --array=K, or those "
      "of task K of N, --array=K/N; K from 0. With --dry-run: the indices that are left to do");
  command.add_option("--launcher", options.launcher,
                     "where runs are carried out: local, as processes of this machine, or slurm, "
                     "as jobs, of which --jobs (100) are queued or running at a time");
  command.add_option("--sbatch", options.sbatch,
                     "with --launcher slurm: options of sbatch, \"--partition=gpu --time=60\"");
  command.add_option(
      "--job-script", options.job_script,
      "with --launcher slurm: what is submitted for each run, with its run directory "
      "as argument; a script of the study's own, job.sbatch, if left out");
}

study::MakeLauncher* launcher_of(const ClusterOptions& options) {
  return find_entry(study::kLaunchers, "launcher", options.launcher).function;
}

void check_cluster(const ClusterOptions& options, const OtherWishes& others) {
  launcher_of(options);
  if (options.is_local() && !(options.sbatch.empty() && options.job_script.empty())) {
    throw ConfigError("--sbatch and --job-script go with --launcher slurm");
  }
  if (!options.is_local() && options.is_array()) {
    throw ConfigError(
        "--array is for a task of a job array that somebody submitted, --launcher slurm submits "
        "jobs itself: choose one");
  }
  if (!options.is_local() && others.jobs_are_found) {
    throw ConfigError("--jobs auto goes with --launcher local: say how many jobs may be queued");
  }
  if (!options.job_script.empty() && !std::filesystem::is_regular_file(options.job_script)) {
    throw ConfigError(fmt::format("--job-script: there is no file {}", options.job_script));
  }
  for (const std::string& setting : others.settings) {
    const bool is_index = setting.find_first_not_of("0123456789/") == std::string::npos;
    if (options.is_array() && is_index) {
      throw ConfigError(fmt::format("--array takes its index with '=': --array={}", setting));
    }
  }
  if (options.is_array() && others.keeps_results) {
    throw ConfigError(
        "--results is written by one process at a time: when all tasks have ended, the same "
        "command with --results and without --array collects what they came to");
  }
}

std::optional<study::ArrayTask> task_of(const ClusterOptions& options) {
  if (!options.is_array()) return std::nullopt;
  return study::read_array_task(options.array == kTaskOfEnvironment ? "" : options.array,
                                [](const char* name) { return std::getenv(name); });
}

void check_task(const study::ArrayTask& task, const study::StudyPlan& plan) {
  study::check_array_task(task, runs_known_beforehand(plan).runs.size());
}

std::string array_range(std::size_t runs) {
  return runs == 1 ? "0" : fmt::format("0-{}", runs - 1);
}

void print_open_indices(const study::StudyPlan& plan, bool retry) {
  const study::StudyRecord record = runs_known_beforehand(plan);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < record.runs.size(); ++i) {
    const study::Standing state =
        study::inspect_run(plan.directory, record.runs[i], record.metric).state;
    const bool is_over =
        state == study::Standing::kDone || (state == study::Standing::kFailed && !retry);
    if (!is_over) open.push_back(i);
  }
  if (open.empty()) {
    say("nothing is left to do\n");
  } else {
    answer("{}\n", study::index_ranges(open));
  }
}

void print_task_end(const study::ArrayTask& task, const study::StudyPlan& plan,
                    const study::StudyOutcome& outcome) {
  for (std::size_t i = 0; i < outcome.reports.size(); ++i) {
    if (!task.has(i)) continue;
    const study::StudyRun& run = outcome.record.runs[i];
    answer("run {}: {}\n", i, run_text(outcome.record, run, outcome.reports[i]));
    if (outcome.reports[i].state != study::Standing::kFailed) continue;
    answer("its log: {}/{}/log.txt\n", harmless(plan.directory), harmless(run.folder));
  }
  if (outcome.open > 0) answer("{}\n", stop_text(outcome));
}

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  char quote = 0;
  bool is_inside = false;  // of a word
  for (const char c : text) {
    const bool is_blank = quote == 0 && (c == ' ' || c == '\t' || c == '\n');
    if (!is_blank && !is_inside) words.emplace_back();
    is_inside = !is_blank;
    if (is_blank) continue;
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else {
      words.back() += c;
    }
  }
  if (quote != 0) throw ConfigError(fmt::format("--sbatch: a {} is not closed", quote));
  return words;
}

}  // namespace impart::cli

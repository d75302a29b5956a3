// impart study: a grid of settings x seeds, run to its end in spite of interruptions.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/engine.h"
#include "cli/output.h"
#include "cli/presets.h"
#include "cli/stop.h"
#include "cli/study/cluster.h"
#include "cli/study/display.h"
#include "cli/study/power.h"
#include "cli/study/status.h"
#include "cli/study/text.h"
#include "cli/terminal/terminal_text.h"
#include "cli/usage.h"
#include "impart/config/model_names.h"
#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/study/plan.h"
#include "impart/study/runner.h"
#include "impart/study/status.h"
#include <CLI/CLI.hpp>

namespace impart::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAuto = "auto";
constexpr std::uint32_t kDefaultJobsOfCluster = 100;
constexpr int kSomeFailed = 1;
constexpr int kStopped = 85;

struct StudyOptions {
  std::string study;  ///< a preset or a file; with --status, --power also a study directory
  std::vector<std::string> overrides;
  std::string jobs;  ///< a number, "auto", or empty
  std::string program;
  std::string results;          ///< a CSV file, or empty
  std::optional<double> power;  ///< a difference, which needs how many seeds?
  ClusterOptions cluster;
  bool processes = false;
  Verbosity verbosity = Verbosity::kNormal;
  bool dry_run = false, status = false, json = false, retry = false, fresh = false;
};

std::string this_program() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (error) throw IoError(fmt::format("/proc/self/exe: cannot read: {}", error.message()));
  return path.string();
}

study::StudyPlan read_plan(const StudyOptions& options, const std::string& file) {
  const config::Schema schema = config::make_schema();
  study::StudySpec study = study::load_study(file, options.overrides, schema);
  const config::ModelName& model =
      find_entry(config::kModelNames, "model", study.config.model.name);
  if (study.metric.empty()) study.metric = fmt::format("best_{}", model.task.metric);
  return study::make_plan(study, schema);
}

/// The runs that follow from the results so far, as they are now; touches nothing.
StudyLook look_at_plan(const study::StudyPlan& plan, const study::ResultsFile* results) {
  const auto inspect = [&](const study::StudyRun& run) {
    return study::inspect_run(results, plan.directory, run, plan.record.metric);
  };
  StudyLook look{.directory = plan.directory, .record = {}, .reports = {}};
  look.record = study::unfold(plan, [&](const study::StudyRun& run) -> study::Finding {
    const study::RunReport report = inspect(run);
    const bool settled =
        report.state == study::Standing::kDone || report.state == study::Standing::kFailed;
    return {.is_settled = settled && report.misfit.empty(), .value = report.value};
  });
  for (const study::StudyRun& run : look.record.runs) look.reports.push_back(inspect(run));
  return look;
}

/// Of a directory, or of a study file: where it has not been run here, by the file of its results.
StudyLook look_at(const StudyOptions& options) {
  if (fs::is_directory(options.study)) return look_at_study(options.study, options.results);
  const study::StudyPlan plan =
      read_plan(options, choose_file(PresetKind::kStudy, options.study).path);
  const bool was_run = fs::exists(plan.directory + "/study.json");
  if (!was_run && fs::exists(options.results)) {
    return look_at_plan(plan, open_results(options.results, plan.record).get());
  }
  if (!was_run && options.power) {
    throw ConfigError(fmt::format(
        "{} has no runs yet: run the study with a few seeds first, or give the file of its results "
        "with --results; --power reads what they came to",
        plan.directory));
  }
  return look_at_study(plan.directory, options.results);
}

/// As many as have cores of their own, if the runs say how many threads each has.
std::uint32_t fitting_jobs(const study::StudyPlan& plan, std::size_t runs) {
  std::uint32_t threads = 0;
  for (const study::PlannedArm& arm : plan.arms) threads = std::max(threads, arm.config.threads);
  if (threads == 0) return study::default_jobs(runs);
  const std::size_t fitting = std::max(1u, std::thread::hardware_concurrency() / threads);
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(runs, 1, fitting));
}

std::uint32_t jobs_of(const StudyOptions& options, const study::StudyPlan& plan, std::size_t runs) {
  if (options.jobs == kAuto) return fitting_jobs(plan, runs);
  if (!options.jobs.empty()) return static_cast<std::uint32_t>(std::stoul(options.jobs));
  if (options.cluster.is_array()) return 1;
  if (plan.jobs > 0) return plan.jobs;
  return options.cluster.is_local() ? study::default_jobs(runs) : kDefaultJobsOfCluster;
}

void print_skipped(const study::StudyPlan& plan) {
  for (const std::string& skipped : plan.skipped) {
    say("left out: {}\n", harmless(skipped));
  }
}

/// The runs as they are now, without touching anything.
void print_plan(const StudyOptions& options, const study::StudyPlan& plan) {
  const auto results = open_results(options.results, plan.record);
  const auto [directory, record, reports, _] = look_at_plan(plan, results.get());
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const study::StudyRun& run = record.runs[i];
    const study::RunReport& report = reports[i];
    answer("{:<9} {}/{}  {} seed {}{}\n",
           report.misfit.empty() ? study::state_name(report.state) : "misfit", harmless(directory),
           run.folder, harmless(run.arm), run.seed, purpose_text(run));
  }
  const std::uint32_t jobs = jobs_of(options, plan, record.runs.size());
  const auto left = study::seconds_left(record, reports, jobs);
  answer("{} arms; {}, {} at a time; {}\n", record.arms.size(),
         counts_text(study::summarise(record, reports).counts), jobs,
         left ? fmt::format("about {} left", duration_text(*left))
              : "how long it takes is known after the first runs");
  if (record.search && !record.search->winner) {
    answer("a search: further runs follow from the results of these\n");
  }
  for (const std::string& line : growth_text(record)) answer("{}\n", line);
  if (study::can_be_array(plan)) {
    answer("as a job array: --array={}\n", array_range(record.runs.size()));
  }
  const auto stale = results ? results->stale_rows(plan) : std::vector<std::string>{};
  if (!stale.empty() && !options.fresh) {
    answer("it would not start: {} rows are not of this study as it is now; the first is {}\n",
           stale.size(), harmless(stale.front()));
  }
}

void print_end(const study::StudyPlan& plan, const study::StudyOutcome& outcome) {
  print_status({.directory = plan.directory,
                .record = outcome.record,
                .reports = outcome.reports,
                .is_running = true});
  const std::string directory = harmless(plan.directory);
  if (outcome.open > 0) {
    answer("{}\n", stop_text(outcome));
  } else if (outcome.failed > 0) {
    answer("{} runs failed; --retry starts them again\n", outcome.failed);
  }
  answer("study directory: {}\n", directory);
}

void run_plan(const StudyOptions& options, const study::StudyPlan& plan, const std::string& file) {
  const auto task = task_of(options.cluster);
  if (task) check_task(*task, plan);
  if (options.program.empty()) require_engine();
  const std::string program = options.program.empty() ? this_program() : options.program;
  const std::size_t runs = plan.arms.size() * plan.record.seeds.size();
  count_stop_signals(SecondInterrupt::kCounts);
  study::StudyOutcome outcome;
  {
    StudyDisplay display(options.verbosity);
    outcome = study::run_study(plan,
                               {.program = program,
                                .study_text = std::string(InputFile(file).text()),
                                .jobs = jobs_of(options, plan, runs),
                                .find_jobs = options.jobs == kAuto,
                                .serve = options.program.empty() && !options.processes && !task,
                                .retry = options.retry,
                                .fresh = options.fresh,
                                .results = options.results,
                                .launcher = launcher_of(options.cluster),
                                .sbatch = split_words(options.cluster.sbatch),
                                .job_script = options.cluster.job_script,
                                .task = task,
                                .stop_requests = stop_requests},
                               display.observer());
  }
  task ? print_task_end(*task, plan, outcome) : print_end(plan, outcome);
  allow_lost_output();
  if (!outcome.hopeless.empty()) throw ExitCode{kSomeFailed};
  if (outcome.open > 0) throw ExitCode{kStopped};
  if (outcome.failed > 0) throw ExitCode{kSomeFailed};
}

void answer_power(const StudyOptions& options) {
  const StudyLook look = look_at(options);
  options.json ? print_power_json(look, *options.power) : print_power(look, *options.power);
}

void run_study(const StudyOptions& options) {
  if (options.json && !options.status && !options.power) {
    throw ConfigError("--json goes with --status or --power");
  }
  if (options.power) {
    answer_power(options);
    return;
  }
  if (options.status) {
    const StudyLook look = look_at(options);
    options.json ? print_status_json(look) : print_status(look);
    return;
  }
  check_cluster(options.cluster, {.jobs_are_found = options.jobs == kAuto,
                                  .keeps_results = !options.results.empty(),
                                  .settings = options.overrides});
  const ChosenFile file = choose_file(PresetKind::kStudy, options.study);
  const study::StudyPlan plan = read_plan(options, file.path);
  if (options.dry_run && options.cluster.is_array()) return print_open_indices(plan, options.retry);
  if (!file.note.empty() && options.verbosity != Verbosity::kQuiet) {
    say("{}\n", harmless(file.note));
  }
  print_skipped(plan);
  options.dry_run ? print_plan(options, plan) : run_plan(options, plan, file.path);
}

}  // namespace

void add_study_command(CLI::App& app) {
  auto* command = app.add_subcommand("study", "Run a grid of settings x seeds to its end");
  command->footer(
      "The same command starts a study and goes on with it: finished runs stay, broken ones "
      "resume.\n"
      "Ctrl-C lets the runs checkpoint, a second one kills them; jobs of Slurm stay queued or "
      "running.\n"
      "Exit codes: 0 all done, 1 some runs failed, 2 wrong usage or study, 65 damaged results, 74 "
      "cannot write or start a run, 85 stopped, to be continued");
  auto options = std::make_shared<StudyOptions>();
  command
      ->add_option(
          "STUDY", options->study,
          "the study's YAML file (docs/studies.md) or a preset (impart list studies); with "
          "--status and --power also a study directory")
      ->required();
  command->add_option("KEY=VALUE", options->overrides,
                      "changes the configuration of all runs, or the study's name and output");
  command
      ->add_option("--jobs", options->jobs,
                   "runs at a time, which share the cores; half of the cores if left out; auto: on "
                   "a GPU as many as are fastest, found by trying, on CPUs cores / threads")
      ->check([](const std::string& text) {
        const bool fits = text == kAuto || CLI::Range(1u, 4096u)(text).empty();
        return fits ? ""
                    : fmt::format("'{}' is neither {} nor a number from 1 to 4096", text, kAuto);
      });
  command->add_option(
      "--results", options->results,
      "CSV file that keeps the results of finished runs and is gone on from: runs that it has are "
      "not run again, whoever ran them");
  command->add_flag("--processes", options->processes,
                    "every run in a process of its own, instead of run after run in one");
  add_cluster_options(*command, options->cluster);
  add_verbosity(*command, options->verbosity);
  command->add_flag("--dry-run", options->dry_run, "list the runs and stop");
  command->add_flag("--status", options->status, "show how the study is, start nothing");
  command
      ->add_option("--power", options->power,
                   "say how many seeds it takes to see this difference of the metric, by the runs "
                   "so far; start nothing")
      ->check([](const std::string& text) {
        double difference = 0;
        const bool positive = CLI::detail::lexical_cast(text, difference) && difference > 0;
        return positive ? "" : fmt::format("'{}' is no number above 0", text);
      });
  command->add_flag("--json", options->json, "with --status and --power: as JSON");
  command->add_flag("--retry", options->retry, "start failed runs again");
  command->add_flag("--fresh", options->fresh,
                    "move runs of another configuration aside and run them again; of --results, "
                    "too");
  command->add_option("--engine", options->program,
                      "the program that trains, a process for each run; this one if left out");
  command->callback([options] { run_study(*options); });
}

}  // namespace impart::cli

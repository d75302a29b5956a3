// impart train: one run, in this process or in all processes of an MPI job.

#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/engine_commands.h"
#include "cli/train_display.h"
#include "cli/training_names.h"
#include "impart/comm/job.h"
#include "impart/config/config_file.h"
#include "impart/config/config_text.h"
#include "impart/core/error.h"
#include "impart/run/result_columns.h"
#include "impart/train/run.h"

namespace impart::cli {
namespace {

constexpr int kPreempted = 85;

std::atomic<bool> stop_requested = false;

void request_stop(int) {
  stop_requested = true;
}

struct Options {
  std::vector<std::string> arguments;  ///< a config file, if the first has no '=', and overrides
  std::string resume;
  bool overwrite = false;
  bool dry_run = false;
  bool keys = false;
  bool markdown = false;
};

config::RunConfig read_config(const Options& options, const config::KnownNames& names) {
  std::vector<std::string> overrides = options.arguments;
  std::optional<std::string> path;
  if (!options.resume.empty() && options.overwrite) {
    throw ConfigError("--resume and --overwrite contradict each other");
  }
  if (!options.resume.empty()) {
    path = options.resume + "/config.yaml";
    if (!std::filesystem::exists(*path)) {
      throw DataError(
          fmt::format("{}: is no run directory: it has no config.yaml", options.resume));
    }
  } else if (!overrides.empty() && overrides.front().find('=') == std::string::npos) {
    path = overrides.front();
    overrides.erase(overrides.begin());
  }
  config::RunConfig config = config::load_config(path, overrides, names);
  if (options.resume.empty()) return config;
  if (config::config_hash(config) != config::config_hash(config::load_config(path, {}, names))) {
    throw ConfigError(
        fmt::format("{}: was started with another configuration; a run can only be "
                    "resumed with its own",
                    options.resume));
  }
  config.output = options.resume;
  return config;
}

void print_summary(const config::RunConfig& config, const train::RunOutcome& outcome) {
  const run::RunSummary& s = outcome.summary;
  if (outcome.preempted) {
    fmt::print("stopped and checkpointed; go on with: impart train --resume {}\n", config.output);
    return;
  }
  const data::Task& task = outcome.task;
  const run::ResultColumn& column = run::column_of(task.metric);
  fmt::print("best {} {} (epoch {}), final {}, {:.1f} s, {} examples moved\n", task.metric,
             data::score_text(task, (s.*column.best).value_or(0)), s.best_epoch + 1,
             data::score_text(task, (s.*column.last).value_or(0)), s.seconds_total,
             s.examples_moved);
  fmt::print("run directory: {}\n", config.output);
}

void run(const Options& options) {
  const config::KnownNames names = training_names();
  if (options.keys) {
    const config::Schema schema = config::make_schema(names);
    fmt::print("{}", options.markdown ? config::markdown_table(schema) : config::help_text(schema));
    return;
  }
  const config::RunConfig config = read_config(options, names);
  if (options.dry_run) {
    fmt::print("{}", config::to_yaml(config));
    return;
  }
  std::signal(SIGTERM, request_stop);
  std::signal(SIGINT, request_stop);
  const auto communicator = comm::make_communicator();
  const bool is_first = communicator->rank() == 0;
  const train::RunOutcome outcome = comm::run_job(*communicator, [&] {
    TrainDisplay display;
    return train::run_training({.config = config,
                                .config_text = config::to_yaml(config),
                                .config_hash = config::config_hash(config),
                                .overwrite = options.overwrite,
                                .resume = !options.resume.empty(),
                                .stop_requested = [] { return stop_requested.load(); }},
                               *communicator, is_first ? display.observer() : train::RunObserver{});
  });
  if (is_first) print_summary(config, outcome);
  if (outcome.preempted) throw ExitCode{kPreempted};
}

}  // namespace

void add_train_command(CLI::App& app) {
  auto* command = add_engine_command(app, "train");
  command->footer(
      "Several processes: mpirun -n 4 impart train …\n"
      "Exit codes: 0 done, 2 wrong usage or config, 65 bad data, 74 cannot write, 75 another "
      "process "
      "was lost, 85 stopped and checkpointed");
  auto options = std::make_shared<Options>();
  command->add_option("CONFIG", options->arguments,
                      "a YAML file (see presets/), then key=value to change it: workers.count=8");
  command->add_option("--resume", options->resume, "go on with the run in this run directory");
  command->add_flag("--overwrite", options->overwrite,
                    "delete a run that is already in the output");
  command->add_flag("--dry-run", options->dry_run, "print the complete config and stop");
  command->add_flag("--keys", options->keys, "explain every key of the config and stop");
  command->add_flag("--markdown", options->markdown, "with --keys: as the table of the docs");
  command->callback([options] { run(*options); });
}

}  // namespace impart::cli

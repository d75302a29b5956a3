// impart train: what to run, its configuration explained and checked.

#include "cli/train.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/presets.h"
#include "cli/terminal/terminal_text.h"
#include "cli/usage.h"
#include "impart/config/config_file.h"
#include "impart/config/config_text.h"
#include "impart/config/unused.h"
#include "impart/core/error.h"
#include <CLI/CLI.hpp>

namespace impart::cli {
namespace {

struct TrainOptions {
  std::vector<std::string> arguments;  ///< a config file, if the first has no '=', and overrides
  std::string resume;
  bool overwrite = false;
  bool dry_run = false;
  bool keys = false;
  bool markdown = false;
  bool json = false;
  Verbosity verbosity = Verbosity::kNormal;
};

/// Which run is asked for: its configuration, and where that is from.
TrainRequest read_request(const TrainOptions& options) {
  std::vector<std::string> overrides = options.arguments;
  std::optional<std::string> path;
  TrainRequest request{.config = {},
                       .overwrite = options.overwrite,
                       .resume = !options.resume.empty(),
                       .verbosity = options.verbosity,
                       .json = options.json};
  if (request.resume && request.overwrite) {
    throw ConfigError("--resume and --overwrite contradict each other");
  }
  if (request.resume) {
    check_settings(overrides);
    request.config = resume_request(options.resume, overrides).config;
    return request;
  }
  if (!overrides.empty() && overrides.front().find('=') == std::string::npos) {
    if (!std::filesystem::exists(overrides.front())) check_settings(overrides);
    const ChosenFile file = choose_file(PresetKind::kRun, overrides.front());
    path = file.path;
    request.source = file.note;
    overrides.erase(overrides.begin());
  }
  check_settings(overrides);
  request.config = config::load_config(path, overrides);
  request.unused = config::describe_unused(request.config);
  return request;
}

void run_train(const TrainOptions& options) {
  if (options.keys) {
    const config::Schema schema = config::make_schema();
    answer("{}", options.markdown ? config::markdown_table(schema) : config::help_text(schema));
    return;
  }
  const TrainRequest request = read_request(options);
  if (!options.dry_run) return train_here(request);
  for (const std::string& sentence : request.unused) say("note: {}\n", sentence);
  if (!request.source.empty()) answer("# {}\n", harmless(request.source));
  answer("{}", config::to_yaml(request.config));
}

}  // namespace

TrainRequest resume_request(const std::string& folder, const std::vector<std::string>& overrides) {
  const std::string path = folder + "/config.yaml";
  if (!std::filesystem::exists(folder)) throw DataError(folder + ": there is no such folder");
  if (!std::filesystem::exists(path)) {
    throw DataError(fmt::format("{}: is no run directory: it has no config.yaml", folder));
  }
  TrainRequest request{.config = config::load_config(path, overrides), .resume = true};
  if (config::config_hash(request.config) != config::config_hash(config::load_config(path, {}))) {
    throw ConfigError(
        fmt::format("{}: was started with another configuration; a run can only be "
                    "resumed with its own",
                    folder));
  }
  request.config.output = folder;
  return request;
}

void add_train_command(CLI::App& app) {
  auto* command = app.add_subcommand("train", "Train a model, examples dealt by importance");
  command->footer(
      "Several processes: mpirun -n 4 impart train …\n"
      "Exit codes: 0 done, 2 wrong usage or config, 65 bad data, 74 cannot write, 75 another "
      "process "
      "was lost, 85 stopped and checkpointed, 86 diverged");
  auto options = std::make_shared<TrainOptions>();
  command->add_option("CONFIG", options->arguments,
                      "a YAML file or a preset (impart list presets), then key=value to change it: "
                      "workers.count=8");
  command->add_option("--resume", options->resume, "go on with the run in this run directory");
  command->add_flag("--overwrite", options->overwrite,
                    "delete a run that is already in the output");
  command->add_flag("--json", options->json,
                    "print what happens on stdout, one JSON object per line (docs/formats.md)");
  add_verbosity(*command, options->verbosity);
  command->add_flag("--dry-run", options->dry_run, "print the complete config and stop");
  command->add_flag("--keys", options->keys, "explain every key of the config and stop");
  command->add_flag("--markdown", options->markdown, "with --keys: as the table of the docs");
  command->callback([options] { run_train(*options); });
}

}  // namespace impart::cli

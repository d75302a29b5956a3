// impart io: what strategies would cost in disk, network and storage, and what runs did cost.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/io_output.h"
#include "cli/presets.h"
#include "cli/terminal/progress_line.h"
#include "impart/config/config_file.h"
#include "impart/core/error.h"
#include "impart/cost/statistics_cost.h"
#include <CLI/CLI.hpp>

namespace impart::cli {
namespace {

/// About 5 s for all strategies together.
constexpr std::uint64_t kWork = 40'000'000;

struct IoOptions {
  std::vector<std::string> arguments;  ///< run directories, or a config file and overrides
  std::optional<std::uint64_t> examples, payload, cache, seed;
  std::optional<std::uint32_t> workers, epochs, warmup, batch;
  std::vector<std::uint32_t> intervals;
  std::vector<double> fractions;
  std::vector<std::string> strategies;
  cost::IoSpec spec;
  std::uint64_t parameters = 0;
  bool csv = false;
  bool json = false;
  bool raw_bytes = false;

  IoOutput output() const {
    return {.format = csv    ? IoFormat::kCsv
                      : json ? IoFormat::kJson
                             : IoFormat::kTable,
            .raw_bytes = raw_bytes};
  }
};

config::RunConfig read_base(const IoOptions& options) {
  std::vector<std::string> overrides = options.arguments;
  std::optional<std::string> path;
  if (!overrides.empty() && overrides.front().find('=') == std::string::npos) {
    path = choose_file(PresetKind::kRun, overrides.front()).path;
    overrides.erase(overrides.begin());
  }
  config::RunConfig config = config::load_config(path, overrides, config::kAnyProgram);
  const auto set = [](auto& value, const auto& option) {
    if (option) value = *option;
  };
  set(config.seed, options.seed);
  set(config.workers.count, options.workers);
  set(config.workers.batch, options.batch);
  set(config.epochs, options.epochs);
  set(config.partition.warmup, options.warmup);
  return config;
}

std::uint64_t count_examples(const IoOptions& options, const config::RunConfig& config) {
  if (options.examples) return *options.examples;
  if (config.data.limit > 0 && !options.arguments.empty()) return config.data.limit;
  throw ConfigError("how many examples are there? give --examples");
}

/// In bytes, of each process.
std::uint64_t cache_size(const IoOptions& options, const config::RunConfig& config) {
  if (options.cache) return *options.cache;
  return config.store.files ? std::uint64_t{config.store.cache} << 20 : 0;
}

std::uint64_t payload_bytes(const IoOptions& options) {
  if (options.payload) return *options.payload;
  throw ConfigError("how many bytes has an example, as it is stored? give --payload");
}

/// Of a step.
double statistics_bytes(const IoOptions& options, const config::RunConfig& config) {
  const std::uint32_t processes = options.spec.processes;
  return cost::statistics_bytes_per_step(config, processes == 0 ? config.workers.count : processes);
}

void simulate(const std::vector<cost::IoStrategy>& strategies, IoPrediction& prediction) {
  prediction.spec.work = kWork / strategies.size();
  ProgressLine line;
  const Progress all = line.phase("simulating the strategies");
  for (const cost::IoStrategy& strategy : strategies) {
    const auto progress = [&](std::uint64_t done, std::uint64_t total) {
      all(prediction.rows.size() * total + done, strategies.size() * total);
    };
    prediction.rows.push_back(
        {strategy, cost::predict_io(strategy.decisions, prediction.spec, progress)});
  }
}

void predict(const IoOptions& options) {
  const config::RunConfig config = read_base(options);
  IoPrediction prediction{.spec = options.spec,
                          .base = config::placement_spec(config),
                          .config = config,
                          .parameters = options.parameters,
                          .statistics_bytes = statistics_bytes(options, config),
                          .rows = {}};
  prediction.spec.examples = count_examples(options, config);
  prediction.spec.payload_bytes = static_cast<double>(payload_bytes(options));
  prediction.spec.cache_bytes = cache_size(options, config);
  cost::IoStrategiesSpec spec{.base = prediction.base};
  if (!options.intervals.empty()) spec.intervals = options.intervals;
  if (!options.fractions.empty()) spec.fractions = options.fractions;
  std::vector<std::string> names = options.strategies;
  if (names.empty()) {
    names = cost::usual_io_strategies(spec);
    if (!options.arguments.empty()) names.insert(names.begin(), "config");
  }
  const std::vector<cost::IoStrategy> strategies = cost::make_io_strategies(names, spec);
  simulate(strategies, prediction);
  print_prediction(prediction, options.output());
}

void compare(const IoOptions& options) {
  cost::DataSizes sizes{.examples = options.examples};
  if (options.payload) sizes.payload_bytes = static_cast<double>(*options.payload);
  std::vector<cost::RunIo> runs;
  for (const std::string& folder : options.arguments) {
    if (!std::filesystem::is_directory(folder)) {
      throw ConfigError(fmt::format(
          "{}: not a run directory; run directories cannot be mixed with a config", folder));
    }
    runs.push_back(cost::compare_run_io(folder, sizes));
  }
  print_comparisons(runs, options.output());
}

void run_io(const IoOptions& options) {
  const bool has_runs =
      std::any_of(options.arguments.begin(), options.arguments.end(),
                  [](const std::string& path) { return std::filesystem::is_directory(path); });
  has_runs ? compare(options) : predict(options);
}

void add_size_options(CLI::App& command, IoOptions& options) {
  const CLI::AsSizeValue as_bytes(/*kb_is_1000=*/true);
  command.add_option("--examples", options.examples, "examples of the data set");
  command
      .add_option("--payload", options.payload,
                  "mean bytes of an example as stored: 3072, 110KB (1000), 110KiB (1024)")
      ->transform(as_bytes);
  command.add_option("--workers", options.workers, "how many workers there are")
      ->check(CLI::PositiveNumber);
  command
      .add_option("--processes", options.spec.processes,
                  "that workers are spread over; 0: one for each")
      ->capture_default_str();
  command.add_option("--epochs", options.epochs, "length of the run")->check(CLI::PositiveNumber);
  command
      .add_option(
          "--cache", options.cache,
          "bytes that each process of a replicated store caches: 512MB; if left out, that of the "
          "config with store.files, else none")
      ->transform(as_bytes);
  command.add_option("--classes", options.spec.classes, "of examples, for class-stripes")
      ->capture_default_str();
  command.add_option("--parameters", options.parameters,
                     "of the model: shows the traffic of gradients, or of weights, too");
  command
      .add_option("--batch", options.batch,
                  "examples per worker and step, for --parameters and workers.batch_norm")
      ->check(CLI::PositiveNumber);
}

void add_strategy_options(CLI::App& command, IoOptions& options) {
  command
      .add_option("--strategy", options.strategies,
                  "a,b,c of: vanilla, local, heuristics, sticky-heuristics, exchanges, config; "
                  "with @: stripes@7, partial@0.2")
      ->delimiter(',');
  command.add_option("--warmup", options.warmup, "random epochs before the first heuristic");
  command
      .add_option("--interval", options.intervals,
                  "epochs between repartitionings: 5,10,30 if left out")
      ->delimiter(',');
  command
      .add_option("--fraction", options.fractions,
                  "share of its part a worker exchanges: 0.1,0.3 if left out")
      ->delimiter(',');
  command
      .add_option("--drift", options.spec.drift,
                  "of the importance: 0 ranks never change, 1 new in every epoch")
      ->capture_default_str();
  command.add_option("--seed", options.seed, "for random choices");
}

}  // namespace

void add_io_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("io", "What strategies cost in disk, network, messages and storage");
  command->footer(
      "Examples:\n"
      "  impart io --examples 50000 --payload 3072 --workers 4 --epochs 100\n"
      "  impart io --examples 1281167 --payload 110KB --workers 64 --cache 8GB "
      "--strategy vanilla,local,sticky-stripes,partial@0.1\n"
      "  impart io run.yaml partition.interval=10 --examples 50000 --payload 3072 --csv\n"
      "  impart io runs/a runs/b        predicted next to measured\n"
      "The real schedule, heuristics and exchanges decide over synthetic importance: a fixed "
      "log-normal level for each example, and noise that is partly renewed in every epoch "
      "(--drift).");
  auto options = std::make_shared<IoOptions>();
  command->add_option("CONFIG|RUN", options->arguments,
                      "run directories; or a YAML file and key=value, as for train");
  add_size_options(*command, *options);
  add_strategy_options(*command, *options);
  auto* csv = command->add_flag("--csv", options->csv, "print CSV, bytes as numbers");
  command->add_flag("--json", options->json, "print JSON")->excludes(csv);
  command->add_flag("--bytes", options->raw_bytes, "print bytes as numbers, without units");
  command->callback([options] { run_io(*options); });
}

}  // namespace impart::cli

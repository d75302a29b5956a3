// impart io: what strategies would cost in disk, network, storage and seconds, and what runs did
// cost.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/io/machine.h"
#include "cli/io/output.h"
#include "cli/io/plot.h"
#include "cli/numbers.h"
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
constexpr std::uint32_t kFewestDrawnNodes = 2, kMostDrawnNodes = 2048;

struct IoOptions {
  std::vector<std::string> arguments;  ///< run directories, or a config file and overrides
  std::optional<std::uint64_t> examples, payload, cache, seed;
  std::optional<std::uint32_t> workers, epochs, warmup, batch;
  std::vector<std::uint32_t> intervals;
  std::vector<double> fractions;
  std::vector<std::string> strategies;
  std::string importance_of;  ///< a run directory; "": importance is made
  cost::IoSpec spec;
  std::uint64_t parameters = 0;
  MachineOptions machine;
  SourcePrice price;
  std::string picture;  ///< a file to draw into; "" for none
  bool all = false;
  bool csv = false;
  bool json = false;
  bool raw_bytes = false;

  bool has_all_strategies() const { return all || csv || json; }
  bool has_config() const { return !arguments.empty() || !importance_of.empty(); }
  IoOutput output() const {
    return {.format = csv    ? IoFormat::kCsv
                      : json ? IoFormat::kJson
                             : IoFormat::kTable,
            .raw_bytes = raw_bytes,
            .wide = all};
  }
};

config::RunConfig read_base(const IoOptions& options) {
  std::vector<std::string> overrides = options.arguments;
  std::optional<std::string> path;
  if (!overrides.empty() && overrides.front().find('=') == std::string::npos) {
    path = choose_file(PresetKind::kRun, overrides.front()).path;
    overrides.erase(overrides.begin());
  } else if (!options.importance_of.empty()) {
    path = options.importance_of + "/config.yaml";
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

std::uint64_t count_examples(const IoOptions& options, const config::RunConfig& config,
                             const cost::RecordedLosses* recorded) {
  if (options.examples) return *options.examples;
  if (recorded != nullptr) return recorded->examples;
  if (config.data.limit > 0 && !options.arguments.empty()) return config.data.limit;
  throw ConfigError("how many examples are there? give --examples");
}

/// The caches of each process.
void set_caches(const IoOptions& options, const config::RunConfig& config, cost::IoSpec& spec) {
  const config::StoreConfig& store = config.store;
  const auto& policy = find_entry(store::kCachePolicies, "cache policy", store.cache_policy);
  // What only a store that reads files has; a policy that plans is asked for.
  const bool has_caches = store.files || policy.is_planned || store.cache_disk > 0;
  spec.cache_bytes = has_caches ? std::uint64_t{store.cache} << 20 : 0;
  if (options.cache) spec.cache_bytes = *options.cache;
  spec.cache_disk_bytes = std::uint64_t{store.cache_disk} << 20;
  spec.cache_policy = &policy;
  spec.cooperative = store.cooperative;
  spec.moves_from_peers = store.move_from != store::MoveFrom::kSource;
}

double payload_bytes(const IoOptions& options, const cost::RecordedLosses* recorded) {
  if (options.payload) return static_cast<double>(*options.payload);
  if (recorded != nullptr && recorded->payload_bytes) return *recorded->payload_bytes;
  throw ConfigError("how many bytes has an example, as it is stored? give --payload");
}

/// What decides in place of made importance, and in which steps.
void set_recorded(const cost::RecordedLosses& recorded, const config::RunConfig& config,
                  cost::IoSpec& spec) {
  spec.recorded = &recorded;
  spec.batch = config.workers.batch;
  spec.uneven = config.workers.uneven;
  spec.steps_ahead = config.data.prefetch + 1;
}

/// Of a step.
double statistics_bytes(const IoOptions& options, const config::RunConfig& config) {
  const std::uint32_t processes = options.spec.processes;
  return cost::statistics_bytes_per_step(config, processes == 0 ? config.workers.count : processes);
}

std::vector<cost::IoStrategy> choose_strategies(const IoOptions& options,
                                                const placement::PlacementSpec& base) {
  const bool only_main = options.strategies.empty() && !options.has_all_strategies();
  cost::IoStrategiesSpec spec{.base = base};
  if (only_main) {
    spec.intervals = {10};
    spec.fractions = {0.1};
  }
  if (!options.intervals.empty()) spec.intervals = options.intervals;
  if (!options.fractions.empty()) spec.fractions = options.fractions;
  if (!options.strategies.empty()) return cost::make_io_strategies(options.strategies, spec);
  std::vector<std::string> names =
      only_main ? cost::main_io_strategies() : cost::usual_io_strategies(spec);
  if (options.has_config()) names.insert(names.begin(), "config");
  return cost::make_io_strategies(names, spec);
}

/// What seconds follow from, with so many workers.
cost::TimeSpec time_spec(const IoOptions& options, const cost::Machine& machine,
                         const IoPrediction& prediction, std::uint32_t workers) {
  const std::uint32_t said = prediction.base.workers;
  const std::uint32_t processes = options.spec.processes == 0 ? said : options.spec.processes;
  const std::uint64_t examples = prediction.spec.examples;
  const std::uint64_t steps =
      options.machine.steps
          ? std::max<std::uint64_t>(1, std::uint64_t{*options.machine.steps} * said / workers)
          : cost::steps_per_epoch(examples, workers, prediction.config.workers.batch);
  const std::uint32_t nodes = std::max(1u, workers * processes / said);
  config::RunConfig config = prediction.config;
  config.workers.count = workers;
  return {.machine = machine,
          .layout = read_layout(options.machine),
          .nodes = nodes,
          .workers = workers,
          .examples = examples,
          .payload_bytes = prediction.spec.payload_bytes,
          .steps = static_cast<double>(steps),
          .parameters = prediction.parameters,
          .arrivals_last = prediction.base.arrivals_last,
          .statistics = cost::shared_statistics(config, nodes)};
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
    if (!prediction.time) continue;
    IoPrediction::Row& row = prediction.rows.back();
    row.time = cost::time_strategy(row.cost, *prediction.time, strategy.decisions.epochs.value());
  }
}

/// Seconds of an epoch for 2, 4, … nodes with as many workers each as was said, as long as there
/// is an example for each.
IoCurves simulate_nodes(const IoOptions& options, const IoPrediction& prediction) {
  const cost::TimeSpec& said = *prediction.time;
  const std::uint32_t workers_per_node = std::max(1u, said.workers / said.nodes);
  IoCurves curves;
  for (std::uint32_t nodes = kFewestDrawnNodes; nodes <= kMostDrawnNodes; nodes *= 2) {
    if (std::uint64_t{nodes} * workers_per_node <= said.examples) curves.nodes.push_back(nodes);
  }
  cost::IoSpec spec = prediction.spec;
  spec.work /= std::max<std::size_t>(1, curves.nodes.size());
  ProgressLine line;
  const Progress progress = line.phase("simulating 2 to 2048 nodes");
  for (const IoPrediction::Row& row : prediction.rows) {
    IoCurve curve{.name = row.strategy.name};
    for (const std::uint32_t nodes : curves.nodes) {
      placement::PlacementSpec decisions = row.strategy.decisions;
      decisions.workers = nodes * workers_per_node;
      spec.processes = nodes;
      const cost::TimeSpec time = time_spec(options, said.machine, prediction, decisions.workers);
      const cost::StrategyCost cost = cost::predict_io(decisions, spec);
      curve.seconds.push_back(
          cost::time_strategy(cost, time, decisions.epochs.value()).later.total());
      progress(curves.lines.size() * curves.nodes.size() + curve.seconds.size(),
               prediction.rows.size() * curves.nodes.size());
    }
    curves.lines.push_back(std::move(curve));
  }
  return curves;
}

/// Before anything is simulated.
void check_picture(const IoOptions& options, const IoPrediction& prediction) {
  if (options.picture.empty()) return;
  if (!options.picture.ends_with(".svg")) {
    throw ConfigError(
        fmt::format("-o {}: it draws SVG; give a name that ends in .svg", options.picture));
  }
  if (!prediction.time) {
    throw ConfigError(
        "-o draws seconds: say how fast the machine is, with --machine NAME or --network 25Gb/s");
  }
  if (prediction.base.epochs.value() < 2) {
    throw ConfigError("-o draws epochs after the first: give --epochs 2 or more");
  }
}

void predict(const IoOptions& options) {
  std::optional<cost::RecordedLosses> recorded;
  if (!options.importance_of.empty()) {
    recorded = cost::read_recorded_losses(options.importance_of);
  }
  const cost::RecordedLosses* const found = recorded ? &*recorded : nullptr;
  const config::RunConfig config = read_base(options);
  IoPrediction prediction{.spec = options.spec,
                          .base = config::placement_spec(config),
                          .config = config,
                          .parameters = options.parameters,
                          .statistics_bytes = statistics_bytes(options, config),
                          .rows = {}};
  prediction.spec.examples = count_examples(options, config, found);
  prediction.spec.payload_bytes = payload_bytes(options, found);
  if (found != nullptr) set_recorded(*found, config, prediction.spec);
  set_caches(options, config, prediction.spec);
  prediction.price = options.price;
  if (const auto machine = read_machine(options.machine)) {
    prediction.time = time_spec(options, *machine, prediction, prediction.base.workers);
  }
  check_picture(options, prediction);
  simulate(choose_strategies(options, prediction.base), prediction);
  print_prediction(prediction, options.output());
  if (!options.picture.empty()) {
    draw_curves(simulate_nodes(options, prediction), options.picture);
  }
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
  if (has_runs && !options.importance_of.empty()) {
    throw ConfigError(fmt::format(
        "--importance-of {} predicts, and run directories are compared: give a config, or neither",
        options.importance_of));
  }
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
      ->check(positive_number());
  command
      .add_option("--processes", options.spec.processes,
                  "that workers are spread over; 0: one for each")
      ->capture_default_str();
  command.add_option("--epochs", options.epochs, "length of the run")->check(positive_number());
  command
      .add_option(
          "--cache", options.cache,
          "bytes that each process of a replicated store caches: 512MB; if left out, that of the "
          "config with store.files or a store.cache_policy that plans, else none")
      ->transform(as_bytes);
  command
      .add_option("--price-get", options.price.per_1000_reads,
                  "what 1000 requests to an object store cost, in any currency: 0.0004")
      ->check(number_from_zero());
  command
      .add_option("--price-gb", options.price.per_gigabyte,
                  "what 1 GB (1000^3 bytes) from an object store costs")
      ->check(number_from_zero());
  command.add_option("--classes", options.spec.classes, "of examples, for class-stripes")
      ->capture_default_str();
  command.add_option("--parameters", options.parameters,
                     "of the model: shows the traffic of gradients, or of weights, too");
  command
      .add_option("--batch", options.batch,
                  "examples per worker and step, for --parameters and workers.batch_norm")
      ->check(positive_number());
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
                  "epochs between repartitionings: 10 if left out, with --all 5,10,30")
      ->delimiter(',');
  command
      .add_option("--fraction", options.fractions,
                  "share of its part a worker exchanges: 0.1 if left out, with --all 0.1,0.3")
      ->delimiter(',');
  auto* drift = command
                    .add_option("--drift", options.spec.drift,
                                "of the importance: 0 ranks never change, 1 new in every epoch")
                    ->capture_default_str();
  command
      .add_option("--importance-of", options.importance_of,
                  "a run directory with importance.history=true: its losses decide, not made "
                  "importance; its config.yaml and sizes, where no others are given")
      ->excludes(drift);
  command.add_option("--seed", options.seed, "for random choices");
}

}  // namespace

void add_io_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("io", "What strategies cost in disk, network, storage and seconds");
  command->footer(
      "Examples:\n"
      "  impart io --examples 50000 --payload 3072 --workers 4 --epochs 100\n"
      "  impart io --examples 1281167 --payload 110KB --workers 128 --epochs 90 \\\n"
      "    --machine ethernet-25g --step 250ms --parameters 25600000      in seconds\n"
      "  impart io run.yaml partition.interval=10 --examples 50000 --payload 3072 --csv\n"
      "  impart io runs/a runs/b        predicted next to measured\n"
      "  impart io --importance-of runs/a store.cache_policy=pin store.cache=64 --strategy config\n"
      "The real schedule, heuristics and exchanges decide over synthetic importance: a fixed "
      "log-normal level for each example, and noise that is partly renewed in every epoch "
      "(--drift). With --importance-of they decide over the losses that a run has recorded: what "
      "that run did, in every epoch, and what others would do if they found the same losses.\n"
      "Seconds, of a network without congestion:\n"
      "  reading    is done ahead and hides behind compute; the first epoch waits for its part\n"
      "  exchange   the slower of network and disk, and a latency per message; it hides behind "
      "the\n"
      "             steps over what stayed with exchange.arrivals_last=true, else not\n"
      "  forward    passes that only learn the importance: a third of a step each, never hidden\n"
      "  statistics of batch norms that are shared: log2(n) rounds for each norm in the forward "
      "and "
      "the\n             backward pass, never hidden\n"
      "  gradients  a ring, 2(n-1)/n of their bytes and 2(n-1) latencies per step; they hide "
      "behind\n"
      "             the backward pass, two thirds of a step\n"
      "docs/io.md has the model, and examples for 128 and 2048 nodes.");
  auto options = std::make_shared<IoOptions>();
  command->add_option("CONFIG|RUN", options->arguments,
                      "run directories; or a YAML file and key=value, as for train");
  add_size_options(*command, *options);
  add_strategy_options(*command, *options);
  add_machine_options(*command, options->machine);
  command
      ->add_option("-o,--output", options->picture,
                   "draw seconds of an epoch against 2 to 2048 nodes into FILE.svg, with gnuplot")
      ->excludes(command->get_option("--importance-of"));
  command->add_flag("--all", options->all,
                    "all strategies and columns, not the ten that matter in 100 columns");
  auto* csv = command->add_flag("--csv", options->csv, "print CSV, bytes as numbers");
  command->add_flag("--json", options->json, "print JSON")->excludes(csv);
  command->add_flag("--bytes", options->raw_bytes, "print bytes as numbers, without units");
  command->callback([options] { run_io(*options); });
}

}  // namespace impart::cli

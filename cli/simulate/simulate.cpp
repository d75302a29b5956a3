// impart simulate: how long exchanges take on a cluster that is not there.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/io/machine.h"
#include "cli/io/plot.h"
#include "cli/numbers.h"
#include "cli/simulate/output.h"
#include "cli/terminal/progress_line.h"
#include "impart/config/config_file.h"
#include "impart/core/error.h"
#include "impart/cost/io_cost.h"
#include "impart/cost/io_strategies.h"
#include "impart/cost/statistics_cost.h"
#include <CLI/CLI.hpp>

namespace impart::cli {
namespace {

struct SimulateOptions {
  std::string run;  ///< a run directory with recorded partitions; "": synthetic importance
  std::vector<std::uint32_t> nodes = {128};
  std::uint32_t workers_per_node = 1;
  std::uint64_t examples = 0, examples_per_node = 0;
  std::uint64_t payload = 0;
  std::string topology = "fat-tree", routing = "static";
  cost::TopologySpec wiring = {};
  cost::ClusterSpec cluster = {};
  std::string pack;
  std::vector<std::string> strategies;
  std::vector<double> fractions = {0.1};
  std::vector<std::uint32_t> intervals = {10};
  std::uint32_t exchanges = 1, batch = 32, classes = 10;
  double drift = 0.3;
  std::uint64_t seed = 0, parameters = 0;
  MachineOptions machine;
  std::string picture;  ///< a file to draw into; "" for none
  bool csv = false, json = false;
};

std::uint64_t examples_on(const SimulateOptions& options, std::uint32_t nodes) {
  if (options.examples_per_node > 0) return options.examples_per_node * nodes;
  if (options.examples > 0) return options.examples;
  throw ConfigError("how many examples are there? give --examples or --examples-per-node");
}

cost::ClusterSpec cluster_of(const SimulateOptions& options, const cost::Machine& machine,
                             std::uint32_t nodes) {
  cost::ClusterSpec cluster = options.cluster;
  cluster.topology = options.wiring;
  cluster.topology.kind = find_entry(cost::kTopologies, "topology", options.topology).value;
  cluster.topology.routing = find_entry(cost::kRoutings, "routing", options.routing).value;
  cluster.topology.nodes = nodes;
  cluster.topology.rate = machine.network;
  cluster.topology.latency = machine.latency;
  cluster.workers = nodes * options.workers_per_node;
  cluster.payload_bytes = static_cast<double>(options.payload);
  cluster.disk = machine.disk;
  if (!options.pack.empty()) cluster.pack = cost::parse_rate(options.pack);
  return cluster;
}

cost::Machine read_cluster_machine(const SimulateOptions& options) {
  if (options.payload == 0) {
    throw ConfigError("how many bytes has an example, as it is stored? give --payload");
  }
  const auto machine = read_machine(options.machine);
  if (machine && machine->network > 0) return *machine;
  throw ConfigError("how fast is the network? give --machine NAME or --network 25Gb/s");
}

std::vector<cost::IoStrategy> strategies_on(const SimulateOptions& options, std::uint32_t workers) {
  config::RunConfig config = config::load_config(std::nullopt, {}, config::kAnyProgram);
  config.seed = options.seed;
  config.workers.count = workers;
  config.partition.warmup = 1;
  const std::uint32_t longest =
      *std::max_element(options.intervals.begin(), options.intervals.end());
  config.epochs = 2 + std::max(1u, longest) * (options.exchanges + 2);
  const cost::IoStrategiesSpec spec{.base = config::placement_spec(config),
                                    .intervals = options.intervals,
                                    .fractions = options.fractions};
  const std::vector<std::string> names =
      options.strategies.empty() ? cost::main_io_strategies() : options.strategies;
  return cost::make_io_strategies(names, spec);
}

/// What an epoch takes beside the exchange.
void time_epoch_of(const SimulateOptions& options, const cost::Machine& machine,
                   const cost::ClusterSpec& cluster, std::uint64_t examples, SimulatedRow& row) {
  const auto steps =
      static_cast<double>(cost::steps_per_epoch(examples, cluster.workers, options.batch));
  row.compute = steps * machine.step;
  if (options.parameters > 0) {
    row.gradients = steps * cost::simulate_ring(
                                static_cast<double>(options.parameters * sizeof(float)), cluster);
  }
  const bool looks = std::any_of(row.exchanges.begin(), row.exchanges.end(),
                                 [](const auto& one) { return one.importance_pass; });
  if (looks) row.importance_pass = row.compute / 3;
}

void add_strategies(const SimulateOptions& options, const cost::Machine& machine,
                    SimulatedTable& table) {
  ProgressLine line;
  for (const std::uint32_t nodes : options.nodes) {
    const cost::ClusterSpec cluster = cluster_of(options, machine, nodes);
    const std::uint64_t examples = examples_on(options, nodes);
    table.topologies.push_back(cost::Topology(cluster.topology).describe());
    for (const cost::IoStrategy& strategy : strategies_on(options, cluster.workers)) {
      const Progress progress = line.phase(fmt::format("{} on {} nodes", strategy.name, nodes));
      SimulatedRow row{.nodes = nodes, .strategy = strategy.name};
      if (!strategy.decisions.exchange) row.interval = std::max(1u, strategy.decisions.interval);
      row.exchanges = cost::simulate_strategy(
          strategy.decisions,
          {.cluster = cluster,
           .placement = {.examples = examples, .drift = options.drift, .classes = options.classes},
           .exchanges = options.exchanges},
          progress);
      time_epoch_of(options, machine, cluster, examples, row);
      table.rows.push_back(std::move(row));
    }
  }
}

/// Who owned what is known; --nodes may spread the run's workers over fewer nodes.
void add_recorded(const SimulateOptions& options, const cost::Machine& machine,
                  bool nodes_were_given, SimulatedTable& table) {
  const cost::RecordedPlans recorded = cost::read_recorded_plans(options.run);
  const std::uint32_t nodes = nodes_were_given ? options.nodes.front() : recorded.workers;
  cost::ClusterSpec cluster = cluster_of(options, machine, nodes);
  cluster.workers = recorded.workers;
  table.topologies.push_back(cost::Topology(cluster.topology).describe());
  SimulatedRow row{.nodes = nodes, .strategy = "recorded"};
  ProgressLine line;
  const Progress progress = line.phase("exchanges of the run");
  for (const cost::RecordedPlan& plan : recorded.plans) {
    row.exchanges.push_back({plan.epoch, cost::simulate_exchange(plan.plan, cluster), false});
    progress(row.exchanges.size(), recorded.plans.size());
  }
  table.rows.push_back(std::move(row));
}

/// Before anything is simulated.
void check_simulated_picture(const SimulateOptions& options) {
  if (options.picture.empty()) return;
  if (!options.picture.ends_with(".svg")) {
    throw ConfigError(
        fmt::format("-o {}: it draws SVG; give a name that ends in .svg", options.picture));
  }
  if (options.nodes.size() < 2 || !options.run.empty()) {
    throw ConfigError("-o draws seconds against nodes: give several, --nodes 128,512,2048");
  }
}

/// Mean seconds of an exchange, a line for each strategy that has any.
IoCurves curves_of(const SimulateOptions& options, const SimulatedTable& table) {
  IoCurves curves{.what = "seconds of an exchange", .nodes = options.nodes};
  for (const SimulatedRow& row : table.rows) {
    if (row.exchanges.empty()) continue;
    double sum = 0;
    for (const cost::EpochExchange& one : row.exchanges) sum += one.exchange.seconds;
    const double seconds = sum / static_cast<double>(row.exchanges.size());
    const auto line = std::find_if(curves.lines.begin(), curves.lines.end(),
                                   [&](const IoCurve& one) { return one.name == row.strategy; });
    if (line == curves.lines.end()) {
      curves.lines.push_back({row.strategy, {seconds}});
    } else {
      line->seconds.push_back(seconds);
    }
  }
  std::erase_if(curves.lines,
                [&](const IoCurve& one) { return one.seconds.size() < options.nodes.size(); });
  return curves;
}

void run_simulate(const SimulateOptions& options, bool nodes_were_given) {
  check_simulated_picture(options);
  const cost::Machine machine = read_cluster_machine(options);
  SimulatedTable table{
      .network = fmt::format(
          "{}, {} latency, {:.3g} % for payloads; parts {}", cost::bit_rate_text(machine.network),
          cost::seconds_text(machine.latency), 100 * options.cluster.efficiency,
          machine.disk > 0 ? fmt::format("on disks of {}", cost::byte_rate_text(machine.disk))
                           : std::string("in memory")),
      .payload_bytes = static_cast<double>(options.payload),
      .has_epochs = machine.step > 0 || options.parameters > 0};
  if (options.run.empty()) {
    add_strategies(options, machine, table);
  } else {
    add_recorded(options, machine, nodes_were_given, table);
    table.has_epochs = false;
  }
  print_simulation(table, options.csv    ? SimulatedFormat::kCsv
                          : options.json ? SimulatedFormat::kJson
                                         : SimulatedFormat::kTable);
  if (!options.picture.empty()) draw_curves(curves_of(options, table), options.picture);
}

void add_cluster_options(CLI::App& command, SimulateOptions& options) {
  command.add_option("--topology", options.topology, "switch, fat-tree or dragonfly")
      ->capture_default_str();
  command.add_option("--leaf", options.wiring.leaf,
                     "nodes at a leaf switch; if left out 32, or 8 at a router of a dragonfly");
  command
      .add_option("--oversubscription", options.wiring.oversubscription,
                  "of a fat tree: a leaf's rate to its nodes over that to the spines")
      ->capture_default_str();
  command
      .add_option("--routing", options.routing,
                  "which of equal ways: static (by destination), hashed (by both ends), or "
                  "adaptive (all at once)")
      ->capture_default_str();
  command
      .add_option("--efficiency", options.cluster.efficiency,
                  "share of a link's rate that is left for payloads")
      ->capture_default_str();
  command
      .add_option("--precision", options.cluster.precision,
                  "ends of messages within this share of the time of a payload beside seven others "
                  "count as one moment: more is faster")
      ->check(number_between(0, 1))
      ->capture_default_str();
  command.add_option("--pack", options.pack,
                     "at which a process copies and hashes payloads: 3GB/s; if left out, in no "
                     "time");
}

void add_decision_options(CLI::App& command, SimulateOptions& options) {
  command
      .add_option("--strategy", options.strategies,
                  "a,b,c of: vanilla, local, heuristics, sticky-heuristics, exchanges; with @: "
                  "stripes@7, partial@0.2")
      ->delimiter(',');
  command.add_option("--interval", options.intervals, "epochs between repartitionings")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--fraction", options.fractions, "share of its part a worker exchanges")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--exchanges", options.exchanges, "how many of each strategy are simulated")
      ->check(positive_number())
      ->capture_default_str();
  command
      .add_option("--drift", options.drift,
                  "of the importance: 0 ranks never change, 1 new in every epoch")
      ->capture_default_str();
  command.add_option("--classes", options.classes, "of examples, for class-stripes")
      ->capture_default_str();
  command.add_option("--seed", options.seed, "for random choices")->capture_default_str();
  command.add_option("--batch", options.batch, "examples per worker and step")
      ->check(positive_number())
      ->capture_default_str();
  command.add_option("--parameters", options.parameters,
                     "of the model: shows the time of gradients, in a ring, too");
}

}  // namespace

void add_simulate_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "simulate", "How long exchanges take on a cluster: every message, every link");
  command->footer(
      "Examples:\n"
      "  impart simulate --nodes 128 --examples 1281167 --payload 110KB --machine ethernet-25g\n"
      "  impart simulate --nodes 128,512,2048 --examples 1281167 --payload 110KB --network 25Gb/s "
      "\\\n"
      "    --latency 5us --oversubscription 2 --strategy vanilla,partial,is-pair --csv\n"
      "  impart simulate runs/a --payload 3072 --network 1Gb/s      what a run has decided\n"
      "The store's own code exchanges examples between simulated nodes: its decisions, its order "
      "of messages and its acknowledgements are real; payloads are small stand-ins, and links are "
      "shared max-min fairly by what flows through them. A run's exchanges are known if it had "
      "partition.save=true. docs/simulate.md says what is left out, and how near it comes to "
      "what was measured.");
  auto options = std::make_shared<SimulateOptions>();
  command->add_option("RUN", options->run, "a run directory with recorded partitions");
  auto* nodes = command->add_option("--nodes", options->nodes, "of the cluster: 128, or 128,2048")
                    ->delimiter(',')
                    ->check(positive_number())
                    ->capture_default_str();
  command->add_option("--workers-per-node", options->workers_per_node, "in one process")
      ->check(positive_number())
      ->capture_default_str();
  command->add_option("--examples", options->examples, "examples of the data set");
  command->add_option("--examples-per-node", options->examples_per_node,
                      "in place of --examples: the data set grows with the cluster");
  command
      ->add_option("--payload", options->payload,
                   "bytes of an example as stored: 3072, 110KB (1000), 110KiB (1024)")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true));
  add_machine_options(*command, options->machine);
  for (const char* only_io : {"--file-system", "--steps-per-epoch", "--store"}) {
    command->remove_option(command->get_option(only_io));
  }
  add_cluster_options(*command, *options);
  add_decision_options(*command, *options);
  command->add_option("-o,--output", options->picture,
                      "draw seconds of an exchange against several --nodes into FILE.svg, with "
                      "gnuplot");
  auto* csv = command->add_flag("--csv", options->csv, "print CSV, one line per exchange");
  command->add_flag("--json", options->json, "print JSON")->excludes(csv);
  command->callback([options, nodes] { run_simulate(*options, nodes->count() > 0); });
}

}  // namespace impart::cli

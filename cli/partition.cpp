// impart partition: from importance scores, or a start, to owners, and what that changes.

#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/start.h"
#include "cli/terminal/progress_line.h"
#include "impart/core/column_file.h"
#include "impart/core/error.h"
#include "impart/placement/exchanges.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/measures/imbalance.h"
#include "impart/placement/move_plan.h"
#include <CLI/CLI.hpp>

namespace impart::cli {
namespace {

struct PartitionOptions {
  std::string importance;
  std::string heuristic = "stripes";
  double strength = 0.5;
  std::uint32_t workers = 0;
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  std::string previous;
  bool sticky = false;
  std::string exchange = "none";
  double fraction = 0.1;
  std::string labels;
  std::string output;
  bool json = false;
};

/// The decision and what is worth saying about it.
struct Outcome {
  placement::Partition partition;
  placement::Imbalance imbalance;
  std::uint64_t non_finite = 0;
  std::optional<double> class_skew;
  std::optional<placement::MovePlan> plan;  ///< what moves, where there was a partition before
};

/// Wrong combinations are found before anything is read.
void check(const PartitionOptions& options) {
  if (options.importance.empty()) {
    throw ConfigError("--importance is missing: scores to deal by; --start deals without");
  }
  placement::check_worker_count(options.workers);
  const placement::HeuristicEntry& heuristic =
      find_entry(placement::kHeuristics, "heuristic", options.heuristic);
  if (options.exchange != "none") find_entry(placement::kExchanges, "exchange", options.exchange);
  if (options.sticky && options.previous.empty()) {
    throw ConfigError("--sticky needs --previous: the partition to stay near to");
  }
  if (heuristic.uses_labels && options.labels.empty()) {
    throw ConfigError(fmt::format("{} needs --labels", options.heuristic));
  }
  for (const std::string& path : {options.importance, options.output}) {
    if (!path.empty()) check_column_path(path);
  }
  for (const std::string& path : {options.previous, options.labels}) {
    if (!path.empty()) check_integers_path(path);
  }
}

void check_length(const std::string& path, std::uint64_t found, std::uint64_t wanted) {
  if (found == wanted) return;
  throw DataError(
      fmt::format("{}: has {} examples, but there are {} importance scores", path, found, wanted));
}

Outcome decide(const PartitionOptions& options, ProgressLine& line) {
  const ScoresFile file(options.importance, "importance",
                        line.phase("reading " + options.importance));
  const Scores scores = file.scores();
  std::optional<placement::Partition> previous;
  if (!options.previous.empty()) {
    previous =
        placement::read_partition(options.previous, 0, line.phase("reading " + options.previous));
    check_length(options.previous, previous->examples(), scores.size());
  }
  std::vector<std::uint32_t> labels;
  if (!options.labels.empty()) {
    labels = read_integers(options.labels, "label", line.phase("reading " + options.labels));
    check_length(options.labels, labels.size(), scores.size());
  }

  const auto partition_anew = [&] {
    line.phase(fmt::format("partitioning by {}", options.heuristic));
    return find_entry(placement::kHeuristics, "heuristic", options.heuristic)
        .function(scores, {.workers = options.workers,
                           .seed = options.seed,
                           .epoch = options.epoch,
                           .labels = labels,
                           .sticky_to = options.sticky ? &*previous : nullptr,
                           .strength = options.strength});
  };
  std::optional<placement::Partition> next;
  if (options.exchange == "none") {
    next = partition_anew();
  } else {
    if (!previous) previous = partition_anew();
    if (previous->workers() > options.workers) {
      throw DataError(
          fmt::format("{}: has a worker {}, but an exchange cannot leave only {} workers",
                      options.previous, previous->workers() - 1, options.workers));
    }
    previous = placement::Partition({previous->owners().begin(), previous->owners().end()},
                                    options.workers);
    line.phase(fmt::format("exchanging by {}", options.exchange));
    next =
        find_entry(placement::kExchanges, "exchange", options.exchange)
            .function(*previous, scores,
                      {.fraction = options.fraction, .seed = options.seed, .epoch = options.epoch});
  }

  line.phase("measuring");
  Outcome outcome{.partition = std::move(*next), .imbalance = {}, .class_skew = {}, .plan = {}};
  outcome.imbalance = placement::measure_imbalance(outcome.partition, scores);
  outcome.non_finite = FiniteScores(scores).replaced();
  if (!labels.empty())
    outcome.class_skew = placement::measure_class_skew(outcome.partition, labels);
  if (previous) outcome.plan = placement::diff(*previous, outcome.partition);
  return outcome;
}

void print_json(const Outcome& outcome) {
  nlohmann::ordered_json json = {{"examples", outcome.partition.examples()},
                                 {"workers", outcome.partition.workers()},
                                 {"sizes", outcome.imbalance.sizes},
                                 {"sums", outcome.imbalance.sums},
                                 {"imbalance_cv", outcome.imbalance.cv},
                                 {"imbalance_ks", outcome.imbalance.ks},
                                 {"non_finite", outcome.non_finite},
                                 {"moved", outcome.plan ? outcome.plan->moves.size() : 0},
                                 {"messages", outcome.plan ? outcome.plan->messages() : 0}};
  if (outcome.class_skew) json["class_skew"] = *outcome.class_skew;
  answer("{}\n", json.dump(2));
}

void print_workers(const placement::Imbalance& imbalance) {
  constexpr std::size_t kShown = 16;
  answer("{:>8} {:>12} {:>16} {:>14}\n", "worker", "size", "sum", "mean");
  const std::size_t workers = imbalance.sizes.size();
  for (std::size_t worker = 0; worker < workers; ++worker) {
    if (workers > kShown && worker == kShown / 2) {
      answer("{:>8} ({} more)\n", "…", workers - kShown);
      worker = workers - kShown / 2;
    }
    const std::uint64_t size = imbalance.sizes[worker];
    const double sum = imbalance.sums[worker];
    answer("{:>8} {:>12} {:>16.6g} {:>14}\n", worker, size, sum,
           size == 0 ? "-" : fmt::format("{:.6g}", sum / static_cast<double>(size)));
  }
}

void print_table(const Outcome& outcome) {
  print_workers(outcome.imbalance);
  answer("imbalance  cv {:.6g}, ks {:.6g}\n", outcome.imbalance.cv, outcome.imbalance.ks);
  if (outcome.class_skew) answer("classes    skew {:.6g}\n", *outcome.class_skew);
  if (outcome.non_finite > 0) {
    answer("non-finite {} scores are NaN or infinite; they rank as the largest finite one\n",
           outcome.non_finite);
  }
  if (!outcome.plan) return;
  const auto moved = outcome.plan->moves.size();
  const auto examples = static_cast<double>(outcome.partition.examples());
  answer("moves      {} examples ({:.2f} %) in {} messages\n", moved,
         moved == 0 ? 0.0 : 100.0 * static_cast<double>(moved) / examples,
         outcome.plan->messages());
}

void run_partition(const PartitionOptions& options) {
  check(options);
  std::optional<Outcome> outcome;
  {
    ProgressLine line;
    outcome = decide(options, line);
    if (!options.output.empty()) {
      placement::write_partition(options.output, outcome->partition,
                                 line.phase("writing " + options.output));
    }
  }
  options.json ? print_json(*outcome) : print_table(*outcome);
}

void add_start_options(CLI::App& command, StartOptions& start) {
  auto* name = command.add_option(
      "--start", start.name,
      "deal as data lies before training, without scores: one of 'impart list starts'");
  for (const char* other : {"--importance", "--heuristic", "--strength", "--epoch", "--previous",
                            "--sticky", "--exchange", "--fraction"}) {
    name->excludes(command.get_option(other));
  }
  command.add_option("--alpha", start.alpha, "of the start dirichlet: small for few classes each")
      ->capture_default_str()
      ->needs(name);
  command.add_option("--sizes", start.sizes, "of the start dirichlet: free or even")
      ->capture_default_str()
      ->needs(name);
  command.add_option("--start-file", start.file, "of the start file: .csv with id,worker, or .npy")
      ->needs(name);
  command.add_option("--examples", start.examples, "how many there are, where no --labels say it")
      ->needs(name);
}

}  // namespace

void add_partition_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "partition", "Deal examples to workers by their importance, or before anything is known");
  auto options = std::make_shared<PartitionOptions>();
  auto start = std::make_shared<StartOptions>();
  command->add_option("--importance", options->importance,
                      "scores: .csv with id,importance, or .npy; needed unless there is --start");
  command->add_option("--heuristic", options->heuristic, "one of 'impart list heuristics'")
      ->capture_default_str();
  command
      ->add_option("--strength", options->strength,
                   "of graded-blocks: how much importance counts against chance, 0..1")
      ->capture_default_str();
  command->add_option("--workers", options->workers, "how many workers there are")->required();
  command->add_option("--seed", options->seed, "for random choices")->capture_default_str();
  command->add_option("--epoch", options->epoch, "for random choices: each epoch draws anew")
      ->capture_default_str();
  command->add_option("--previous", options->previous,
                      "the partition before: .csv with id,worker, or .npy; counts what moves");
  command->add_flag("--sticky", options->sticky,
                    "move no more away from --previous than the heuristic needs");
  command
      ->add_option("--exchange", options->exchange,
                   "instead of partitioning anew, exchange a part of --previous (of the "
                   "heuristic's partition if there is none): one of 'impart list exchanges'")
      ->capture_default_str();
  command->add_option("--fraction", options->fraction, "share of its part a worker exchanges, 0..1")
      ->capture_default_str();
  command->add_option("--labels", options->labels,
                      "classes: .csv with id,label, .npy, or .txt with one per line");
  add_start_options(*command, *start);
  command->add_option("-o,--output", options->output, "write the owners: .csv (id,worker) or .npy");
  command->add_flag("--json", options->json, "print the summary as JSON");
  command->callback([options, start] {
    if (start->name.empty()) return run_partition(*options);
    start->labels = options->labels;
    start->workers = options->workers;
    start->seed = options->seed;
    start->output = options->output;
    start->json = options->json;
    run_start(*start);
  });
}

}  // namespace impart::cli

#include "cli/start.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "cli/terminal/progress_line.h"
#include "impart/core/column_file.h"
#include "impart/core/error.h"
#include "impart/placement/measures/imbalance.h"
#include "impart/placement/starts.h"

namespace impart::cli {
namespace {

struct StartOutcome {
  placement::Partition partition;
  std::optional<placement::ClassSkew> skew;  ///< where there are labels
};

placement::PartSizes sizes_named(const std::string& name) {
  if (name == "free") return placement::PartSizes::kFree;
  if (name == "even") return placement::PartSizes::kEven;
  constexpr std::string_view kNames[] = {"free", "even"};
  throw_unknown_name("sizes", name, kNames);
}

/// Wrong combinations are found before anything is read.
void check(const StartOptions& options) {
  placement::check_worker_count(options.workers);
  sizes_named(options.sizes);
  const auto& start = find_entry(placement::kStarts, "start", options.name);
  if (start.uses_labels && options.labels.empty()) {
    throw ConfigError(fmt::format("start {} needs --labels", options.name));
  }
  if (start.needs_file != !options.file.empty()) {
    throw ConfigError(start.needs_file ? "start file needs --start-file"
                                       : "--start-file needs --start file");
  }
  if (options.labels.empty() && options.examples == 0) {
    throw ConfigError(
        fmt::format("start {} needs --labels, or --examples: how many there are", options.name));
  }
  for (const std::string& path : {options.labels, options.file}) {
    if (!path.empty()) check_integers_path(path);
  }
  if (!options.output.empty()) check_column_path(options.output);
}

StartOutcome deal(const StartOptions& options, ProgressLine& line) {
  std::vector<std::uint32_t> labels;
  std::uint64_t examples = options.examples;
  if (!options.labels.empty()) {
    labels = read_integers(options.labels, "label", line.phase("reading " + options.labels));
    if (examples != 0 && labels.size() != examples) {
      throw DataError(fmt::format("{}: has {} labels, but --examples is {}", options.labels,
                                  labels.size(), examples));
    }
    examples = labels.size();
  }
  std::optional<placement::Partition> given;
  if (!options.file.empty()) given = placement::read_start(options.file, examples, options.workers);
  line.phase(fmt::format("dealing by {}", options.name));
  StartOutcome outcome{.partition = find_entry(placement::kStarts, "start", options.name)
                                        .function({.examples = examples,
                                                   .workers = options.workers,
                                                   .seed = options.seed,
                                                   .labels = labels,
                                                   .alpha = options.alpha,
                                                   .sizes = sizes_named(options.sizes),
                                                   .given = given ? &*given : nullptr}),
                       .skew = {}};
  if (!labels.empty()) outcome.skew = placement::measure_classes(outcome.partition, labels);
  return outcome;
}

void print_json(const StartOutcome& outcome) {
  nlohmann::ordered_json json = {
      {"examples", outcome.partition.examples()},
      {"workers", outcome.partition.workers()},
      {"sizes", outcome.partition.sizes()},
      {"size_spread", placement::measure_size_spread(outcome.partition)}};
  if (outcome.skew) {
    json["class_skew"] = outcome.skew->largest;
    json["mean_class_skew"] = outcome.skew->mean;
    json["mean_class_skew_by_chance"] = outcome.skew->mean_by_chance;
  }
  answer("{}\n", json.dump(2));
}

void print_text(const StartOutcome& outcome) {
  const auto sizes = outcome.partition.sizes();
  const auto [smallest, largest] = std::minmax_element(sizes.begin(), sizes.end());
  answer("parts      {} of {} to {} examples, the largest {:.3g} times the mean\n", sizes.size(),
         *smallest, *largest, placement::measure_size_spread(outcome.partition));
  if (!outcome.skew) return;
  answer(
      "classes    skew {:.3g} on average, {:.3g} at most; random parts would have about {:.3g}\n",
      outcome.skew->mean, outcome.skew->largest, outcome.skew->mean_by_chance);
}

}  // namespace

void run_start(const StartOptions& options) {
  check(options);
  std::optional<StartOutcome> outcome;
  {
    ProgressLine line;
    outcome = deal(options, line);
    if (!options.output.empty()) {
      placement::write_partition(options.output, outcome->partition,
                                 line.phase("writing " + options.output));
    }
  }
  options.json ? print_json(*outcome) : print_text(*outcome);
}

}  // namespace impart::cli

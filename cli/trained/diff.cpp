// impart diff: what two runs have different.

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/terminal/terminal_text.h"
#include "cli/terminal/text_table.h"
#include "impart/core/error.h"
#include "impart/results/run_difference.h"
#include <CLI/CLI.hpp>

namespace impart::cli {
namespace {

using Json = nlohmann::ordered_json;

struct DiffOptions {
  std::vector<std::string> runs;
  bool json = false;
};

std::string shown_number(const results::NumberPair& pair, double value) {
  if (std::isnan(value)) return "-";
  if (pair.name.starts_with("bytes_")) return bytes_text(value, /*raw=*/false);
  // Epochs count from 1 wherever people read them.
  if (pair.name == "best_epoch" || pair.name == "diverged_at") return count_text(value + 1);
  if (pair.name.starts_with("seconds_")) return fmt::format("{:.1f}", value);
  return value == std::round(value) && std::abs(value) < 1e15 ? count_text(value)
                                                              : fmt::format("{:.4f}", value);
}

/// "+2.1000", or how many times as much for costs.
std::string shown_change(const results::NumberPair& pair, bool is_cost) {
  const double change = pair.second - pair.first;
  if (std::isnan(change)) return "";
  if (shown_number(pair, pair.first) == shown_number(pair, pair.second)) return "same";
  if (is_cost) return pair.first > 0 ? fmt::format("x{:.2f}", pair.second / pair.first) : "";
  return pair.name == "best_epoch" ? fmt::format("{:+.0f}", change)
                                   : fmt::format("{:+.4f}", change);
}

void print_numbers(const char* title, const std::vector<results::NumberPair>& pairs, bool is_cost) {
  TextTable table({title, "first", "second", "change"});
  for (const results::NumberPair& pair : pairs) {
    table.add({"  " + pair.name, shown_number(pair, pair.first), shown_number(pair, pair.second),
               shown_change(pair, is_cost)});
  }
  answer("\n{}", table.text());
}

void print_text(const DiffOptions& options, const results::RunDifference& difference) {
  answer("first   {}\nsecond  {}\n", harmless(options.runs[0]), harmless(options.runs[1]));
  answer("\nconfiguration{}\n", difference.configuration.empty() ? ": the same" : "");
  for (const results::KeyPair& pair : difference.configuration) {
    const auto text = [](const std::string& value) {
      return value.empty() ? "\"\"" : harmless(value);
    };
    answer("  {}: {} -> {}\n", harmless(pair.key), text(pair.first), text(pair.second));
  }
  print_numbers("results", difference.results, /*is_cost=*/false);
  if (difference.same_weights) answer("  the weights are the same, bit for bit\n");
  print_numbers("costs", difference.costs, /*is_cost=*/true);
}

Json json_of(const std::vector<results::NumberPair>& pairs) {
  Json json = Json::object();
  for (const results::NumberPair& pair : pairs) json[pair.name] = {pair.first, pair.second};
  return json;
}

void print_json(const DiffOptions& options, const results::RunDifference& difference) {
  Json configuration = Json::object();
  for (const results::KeyPair& pair : difference.configuration) {
    configuration[pair.key] = {pair.first, pair.second};
  }
  const Json json = {{"runs", options.runs},
                     {"configuration", configuration},
                     {"results", json_of(difference.results)},
                     {"costs", json_of(difference.costs)},
                     {"same_weights", difference.same_weights}};
  answer("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

void add_diff_command(CLI::App& app) {
  auto* command = app.add_subcommand("diff", "What two runs have different");
  auto options = std::make_shared<DiffOptions>();
  command->add_option("RUN", options->runs, "two run directories")->required()->expected(2);
  command->add_flag("--json", options->json, "[first, second] of each, epochs counted from 0");
  command->callback([options] {
    const results::RunDifference difference =
        results::compare_runs(options->runs[0], options->runs[1]);
    options->json ? print_json(*options, difference) : print_text(*options, difference);
  });
}

}  // namespace impart::cli

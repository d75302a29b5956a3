#include "impart/config/unused.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "impart/config/config_keys.h"
#include "impart/config/schema.h"
#include "impart/core/named_table.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/selections.h"
#include "impart/placement/starts.h"

namespace impart::config {
namespace {

using Names = std::vector<std::string_view>;

/// The names of a table without some.
template <class Table>
Names all_but(const Table& table, const Names& others) {
  Names names;
  for (const auto& row : table) {
    if (std::ranges::find(others, row.name) == others.end()) names.push_back(row.name);
  }
  return names;
}

/// A key that some strategies look at.
struct Looked {
  std::string_view key;
  std::string_view strategy;  ///< the key that names the strategy
  Names idle;                 ///< strategies that do not look at it
};

std::vector<Looked> make_table() {
  const auto selections = [](std::string_view key, const Names& by) {
    return Looked{key, "selection.strategy", all_but(placement::kSelections, by)};
  };
  const Looked alpha{"partition.alpha", "partition.start",
                     all_but(placement::kStarts, {"dirichlet"})};
  return {
      alpha,
      {"partition.sizes", alpha.strategy, alpha.idle},
      {"partition.warmup_shuffle", "partition.start", {placement::kRandomStart}},
      {"partition.strength", "partition.heuristic",
       all_but(placement::kHeuristics, {"graded-blocks"})},
      {"exchange.fraction", "exchange.strategy", {kNoExchange}},
      selections("selection.share", {"random", "infobatch", "kakurenbo", "prune"}),
      selections("selection.scope", {"infobatch", "kakurenbo", "prune", "curriculum", "weights"}),
      {"selection.final", "selection.strategy", {kNoSelection}},
      selections("selection.whole_steps",
                 {"random", "infobatch", "kakurenbo", "sampling", "curriculum"}),
      selections("selection.confidence", {"kakurenbo"}),
      {"selection.lr", "selection.strategy", {kNoSelection}},
      selections("selection.budget", {"sampling"}),
      selections("selection.mix", {"sampling"}),
      selections("selection.threshold", {"sampling"}),
      selections("selection.after", {"prune"}),
      selections("selection.prune", {"prune"}),
      selections("selection.start", {"curriculum"}),
      selections("selection.ramp", {"curriculum"}),
      selections("selection.growth", {"curriculum"}),
      selections("selection.epsilon", {"weights"}),
  };
}

}  // namespace

std::vector<std::string> describe_unused(const RunConfig& config) {
  const Schema schema = make_schema();
  std::vector<std::string> sentences;
  for (const Looked& row : make_table()) {
    const ConfigKey& key = key_at(schema, row.key);
    if (key.get(config) == key.get(RunConfig{})) continue;
    const std::string strategy = key_at(schema, row.strategy).get(config).front();
    if (std::ranges::find(row.idle, strategy) == row.idle.end()) continue;
    sentences.push_back(
        fmt::format("{} has no effect with {}: {}", row.key, row.strategy, strategy));
  }
  return sentences;
}

}  // namespace impart::config

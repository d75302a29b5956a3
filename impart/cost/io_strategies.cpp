#include "impart/cost/io_strategies.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/placement/exchanges.h"
#include "impart/placement/heuristics.h"

namespace impart::cost {
namespace {

constexpr std::string_view kVanilla = "vanilla";
constexpr std::string_view kLocal = "local";
constexpr std::string_view kConfig = "config";
constexpr std::string_view kSticky = "sticky-";

template <class Row, std::size_t N>
bool has_row(const Row (&table)[N], std::string_view name) {
  const auto names = names_of(table);
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// A strategy's name, cut into what it is made of.
struct Written {
  std::string_view text;              ///< all of it
  std::string_view name;              ///< without what follows
  std::optional<std::string> number;  ///< what follows an "@"
};

Written parse(std::string_view text) {
  const std::size_t at = text.find('@');
  if (at == text.npos) return {text, text, std::nullopt};
  return {text, text.substr(0, at), std::string(text.substr(at + 1))};
}

template <class Number>
Number read_number(const Written& written, std::string_view what) {
  Number number{};
  const std::string& digits = *written.number;
  const auto end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  if (digits.empty() || error != std::errc{} || stop != end) {
    throw ConfigError(fmt::format("strategy '{}': '{}' is no {}", written.text, digits, what));
  }
  return number;
}

[[noreturn]] void throw_unknown_strategy(std::string_view name) {
  std::vector<std::string> names = {std::string(kVanilla), std::string(kLocal),
                                    std::string(kConfig)};
  for (const placement::HeuristicEntry& row : placement::kHeuristics) {
    if (!row.uses_importance) continue;
    names.emplace_back(row.name);
    names.push_back(fmt::format("{}{}", kSticky, row.name));
  }
  for (const placement::ExchangeEntry& row : placement::kExchanges) names.emplace_back(row.name);
  throw_unknown_name("strategy", name, std::vector<std::string_view>(names.begin(), names.end()));
}

/// What only the base itself does.
placement::PlacementSpec visiting_all(placement::PlacementSpec decisions) {
  decisions.selection = placement::kSelections[0];
  return decisions;
}

placement::PlacementSpec never_repartitioned(placement::PlacementSpec decisions) {
  decisions = visiting_all(std::move(decisions));
  decisions.heuristic = find_entry(placement::kHeuristics, "heuristic", "random");
  decisions.warmup = decisions.interval = 0;
  decisions.sticky = false;
  decisions.exchange.reset();
  return decisions;
}

IoStrategy repartitioning(const Written& written, const placement::PlacementSpec& base,
                          std::uint32_t interval) {
  const bool sticky = written.name.starts_with(kSticky);
  IoStrategy strategy{fmt::format("{}@{}", written.name, interval), visiting_all(base)};
  strategy.decisions.heuristic = find_entry(placement::kHeuristics, "heuristic",
                                            written.name.substr(sticky ? kSticky.size() : 0));
  strategy.decisions.interval = interval;
  strategy.decisions.sticky = sticky;
  strategy.decisions.exchange.reset();
  return strategy;
}

IoStrategy exchanging(const Written& written, const placement::PlacementSpec& base,
                      double fraction) {
  if (!(fraction >= 0 && fraction <= 1)) {
    throw ConfigError(fmt::format("strategy '{}': a fraction of {} is not between 0 and 1",
                                  written.text, fraction));
  }
  IoStrategy strategy{fmt::format("{}@{}", written.name, fraction), never_repartitioned(base)};
  strategy.decisions.exchange = find_entry(placement::kExchanges, "exchange", written.name);
  strategy.decisions.fraction = fraction;
  strategy.decisions.arrivals_last = false;
  return strategy;
}

IoStrategy without_number(const Written& written, const placement::PlacementSpec& base) {
  if (written.number) {
    throw ConfigError(fmt::format("strategy '{}': {} takes no number", written.text, written.name));
  }
  IoStrategy strategy{std::string(written.name), base};
  if (written.name == kConfig) return strategy;
  strategy.decisions = never_repartitioned(base);
  strategy.decisions.interval = written.name == kVanilla ? 1 : 0;
  return strategy;
}

bool is_heuristic(std::string_view name) {
  if (name.starts_with(kSticky)) name.remove_prefix(kSticky.size());
  return has_row(placement::kHeuristics, name) &&
         find_entry(placement::kHeuristics, "heuristic", name).uses_importance;
}

void add_strategies(std::vector<IoStrategy>& strategies, std::string_view text,
                    const IoStrategiesSpec& spec) {
  const Written written = parse(text);
  if (written.name == kVanilla || written.name == kLocal || written.name == kConfig) {
    strategies.push_back(without_number(written, spec.base));
  } else if (is_heuristic(written.name)) {
    std::vector<std::uint32_t> intervals = spec.intervals;
    if (written.number) intervals = {read_number<std::uint32_t>(written, "number of epochs")};
    for (const std::uint32_t interval : intervals) {
      strategies.push_back(repartitioning(written, spec.base, interval));
    }
  } else if (has_row(placement::kExchanges, written.name)) {
    std::vector<double> fractions = spec.fractions;
    if (written.number) fractions = {read_number<double>(written, "fraction")};
    for (const double fraction : fractions) {
      strategies.push_back(exchanging(written, spec.base, fraction));
    }
  } else {
    throw_unknown_strategy(written.name);
  }
}

}  // namespace

std::vector<IoStrategy> make_io_strategies(std::span<const std::string> names,
                                           const IoStrategiesSpec& spec) {
  std::vector<IoStrategy> strategies;
  for (const std::string& name : names) add_strategies(strategies, name, spec);
  return strategies;
}

std::vector<std::string> main_io_strategies() {
  std::vector<std::string> names = {std::string(kVanilla), std::string(kLocal), "stripes",
                                    "sticky-stripes", "sticky-blocks"};
  for (const placement::ExchangeEntry& row : placement::kExchanges) names.emplace_back(row.name);
  return names;
}

std::vector<std::string> usual_io_strategies(const IoStrategiesSpec& spec) {
  std::vector<std::string> names = {std::string(kVanilla), std::string(kLocal), "stripes",
                                    "sticky-stripes"};
  for (const placement::HeuristicEntry& row : placement::kHeuristics) {
    if (!row.uses_importance || row.name == "stripes" || spec.intervals.empty()) continue;
    const std::uint32_t middle = spec.intervals[spec.intervals.size() / 2];
    names.push_back(fmt::format("{}@{}", row.name, middle));
    names.push_back(fmt::format("{}{}@{}", kSticky, row.name, middle));
  }
  for (const placement::ExchangeEntry& row : placement::kExchanges) names.emplace_back(row.name);
  return names;
}

}  // namespace impart::cost

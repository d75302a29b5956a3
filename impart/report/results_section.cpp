#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "impart/report/numbers.h"
#include "impart/report/sections.h"

namespace impart::report {
namespace {

std::string claim_text(statistics::Claim claim) {
  switch (claim) {
    case statistics::Claim::kBetter:
      return "better";
    case statistics::Claim::kWorse:
      return "worse";
    case statistics::Claim::kUnclear:
      return "no difference seen";
    case statistics::Claim::kNone:
      break;
  }
  return "not tested";
}

Cell optional_p(const std::optional<double>& p) {
  if (!p) return missing_cell();
  return {.text = p_text(*p), .value = *p};
}

void add_comparison(const ArmAnalysis& arm, std::vector<Cell>& row) {
  if (arm.comparison == nullptr) {
    for (int i = 0; i < 3; ++i) row.push_back(missing_cell());
    row.push_back({.text = arm.is_baseline ? "baseline" : "–", .tone = Cell::Tone::kMuted});
    return;
  }
  const statistics::ArmComparison& compared = *arm.comparison;
  row.push_back({.text = difference_text(compared.difference),
                 .value = compared.difference,
                 .tone = tone_of(compared.claim)});
  row.push_back(compared.interval
                    ? Cell{.text = fmt::format("{} … {}", difference_text(compared.interval->low),
                                               difference_text(compared.interval->high)),
                           .value = compared.interval->low}
                    : missing_cell());
  row.push_back(optional_p(compared.adjusted_p));
  row.push_back({.text = claim_text(compared.claim), .tone = tone_of(compared.claim)});
}

/// Counted from 1, as the terminal does; files count from 0.
Cell best_epoch_cell(const ArmAnalysis& arm) {
  const double epoch = mean_number(*arm.arm, "best_epoch") + 1;
  if (!std::isfinite(epoch)) return missing_cell();
  return {.text = fmt::format("{:.{}f}", epoch, arm.metric.n > 1 ? 1 : 0), .value = epoch};
}

/// Whether any setting has several runs, so that there is a spread to show.
bool has_spread(const GroupAnalysis& group) {
  return std::any_of(group.arms.begin(), group.arms.end(),
                     [](const ArmAnalysis& arm) { return arm.metric.n > 1; });
}

Table results_table(const Analysis& analysis, const GroupAnalysis& group) {
  const std::string unit = analysis.unit.empty() ? "" : fmt::format(" ({})", analysis.unit);
  const bool spread = has_spread(group);
  const std::string meaning = spread ? "mean ± standard deviation (n − 1)" : "";
  std::string companion = results::companion_of(analysis.results->metric);
  std::replace(companion.begin(), companion.end(), '_', ' ');
  Table table{.caption =
                  fmt::format("{}{}{}{}", caption_start(analysis, group), analysis.metric_name,
                              unit, spread ? ", mean ± standard deviation over runs" : "")};
  table.columns = {{"setting", false}};
  if (spread) table.columns.push_back({"n", true, "runs"});
  table.columns.push_back({analysis.metric_name, true, meaning});
  if (group.comparison) {
    table.columns.push_back({"difference", true, "to the baseline, of the means"});
    const bool corrected = group.comparison->spec.looks > 1;
    table.columns.push_back({"95 % interval", true,
                             corrected ? "of the difference, for all looks and settings together"
                                       : "of the difference, not corrected"});
    table.columns.push_back({"Holm p", true, "corrected for all settings of the group"});
    table.columns.push_back({"verdict", false, "after correction, at 0.05"});
  }
  if (!companion.empty()) table.columns.push_back({companion, true, meaning});
  table.columns.push_back({"best epoch", true, spread ? "mean, counted from 1" : "counted from 1"});
  for (const ArmAnalysis* arm : group.leaders(group.arms.size())) {
    std::vector<Cell> row = {text_cell(arm->arm->name)};
    if (spread) row.push_back(count_cell(static_cast<double>(arm->metric.n)));
    row.push_back(spread_cell(arm->metric));
    if (group.comparison) add_comparison(*arm, row);
    if (!companion.empty()) {
      row.push_back(arm->companion ? spread_cell(*arm->companion) : missing_cell());
    }
    row.push_back(best_epoch_cell(*arm));
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// What fewer readers ask for.
Table details_table(const Analysis& analysis, const GroupAnalysis& group) {
  Table table{.caption = fmt::format("{}median and range of {}{}", caption_start(analysis, group),
                                     analysis.metric_name,
                                     group.comparison ? "; tests without correction" : ""),
              .collapsed = true};
  table.columns = {{"setting", false}, {"median"}, {"smallest"}, {"largest"}};
  if (group.comparison) {
    table.columns.push_back({"p", true, "two-sided, not corrected"});
    table.columns.push_back({"test", false, "seeds paired: sign-flip or t; not paired: Welch"});
  }
  for (const ArmAnalysis* arm : group.leaders(group.arms.size())) {
    table.rows.push_back({text_cell(arm->arm->name), number_cell(arm->metric.median),
                          number_cell(arm->metric.min), number_cell(arm->metric.max)});
    if (!group.comparison) continue;
    const statistics::ArmComparison* compared = arm->comparison;
    table.rows.back().push_back(compared != nullptr ? optional_p(compared->p) : missing_cell());
    table.rows.back().push_back(compared != nullptr
                                    ? text_cell(std::string(statistics::name_of(compared->test)))
                                    : missing_cell());
  }
  return table;
}

/// Distinct values of a key, as numbers where they are, in order.
std::vector<std::string> values_of(const std::vector<const ArmAnalysis*>& arms,
                                   std::string_view key) {
  std::vector<std::string> values;
  for (const ArmAnalysis* arm : arms) {
    const std::string value(results::setting(arm->arm->settings, key));
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  std::stable_sort(values.begin(), values.end(), [](const std::string& a, const std::string& b) {
    return std::atof(a.c_str()) < std::atof(b.c_str());
  });
  return values;
}

constexpr std::string_view kWarmup = "partition.warmup";
constexpr std::string_view kInterval = "partition.interval";

/// The settings of an arm besides warm-up and interval: "stripes, loss-variance".
std::string other_settings(const ArmAnalysis& arm) {
  std::string text;
  for (const auto& [key, value] : arm.arm->settings) {
    if (key == kWarmup || key == kInterval || key.starts_with("data.") ||
        key.starts_with("model.") || value.empty()) {
      continue;
    }
    const bool speaks_for_itself = key == "partition.heuristic" || key == "importance.notion";
    text += (text.empty() ? "" : ", ") + (speaks_for_itself ? value : key + " " + value);
  }
  return text;
}

/// Arms with a warm-up and an interval, by their other settings.
std::vector<std::pair<std::string, std::vector<const ArmAnalysis*>>> families_of(
    const GroupAnalysis& group) {
  std::vector<std::pair<std::string, std::vector<const ArmAnalysis*>>> families;
  for (const ArmAnalysis& arm : group.arms) {
    if (arm.is_baseline || results::setting(arm.arm->settings, kWarmup).empty() ||
        results::setting(arm.arm->settings, kInterval).empty()) {
      continue;
    }
    const std::string name = other_settings(arm);
    auto found = std::find_if(families.begin(), families.end(),
                              [&](const auto& family) { return family.first == name; });
    if (found == families.end()) {
      found = families.insert(families.end(), {name, std::vector<const ArmAnalysis*>()});
    }
    found->second.push_back(&arm);
  }
  return families;
}

Cell crossed_cell(const ArmAnalysis& arm, const Analysis& analysis, double largest) {
  Cell cell = spread_cell(arm.metric);
  if (arm.comparison == nullptr) return cell;
  cell.tone = tone_of(arm.comparison->claim);
  if (arm.comparison->claim == statistics::Claim::kBetter ||
      arm.comparison->claim == statistics::Claim::kWorse) {
    cell.text += " **";
  } else if (arm.comparison->p && *arm.comparison->p < 0.05) {
    cell.text += " *";
  }
  const double gain = analysis.better == statistics::Better::kHigher ? arm.comparison->difference
                                                                     : -arm.comparison->difference;
  if (largest > 0) cell.shade = gain / largest;
  return cell;
}

Table crossed_table(const Analysis& analysis, const GroupAnalysis& group, const std::string& family,
                    const std::vector<const ArmAnalysis*>& arms) {
  double largest = 0;
  for (const ArmAnalysis& arm : group.arms) {
    if (arm.comparison != nullptr)
      largest = std::max(largest, std::abs(arm.comparison->difference));
  }
  const auto warmups = values_of(arms, kWarmup);
  const auto intervals = values_of(arms, kInterval);
  Table table{.caption = fmt::format("{}{}{}{}", caption_start(analysis, group), family,
                                     family.empty() ? "" : ": ", analysis.metric_name)};
  if (group.baseline() != nullptr) {
    table.caption +=
        fmt::format("; {} {}", group.baseline()->arm->name, spread_text(group.baseline()->metric));
  }
  table.columns = {{"warm-up", true}};
  for (const std::string& interval : intervals) table.columns.push_back({"I = " + interval});
  for (const std::string& warmup : warmups) {
    table.rows.push_back({{.text = "W = " + warmup, .value = std::atof(warmup.c_str())}});
    for (const std::string& interval : intervals) {
      const auto arm = std::find_if(arms.begin(), arms.end(), [&](const ArmAnalysis* one) {
        return results::setting(one->arm->settings, kWarmup) == warmup &&
               results::setting(one->arm->settings, kInterval) == interval;
      });
      table.rows.back().push_back(arm == arms.end() ? missing_cell()
                                                    : crossed_cell(**arm, analysis, largest));
    }
  }
  return table;
}

}  // namespace

std::vector<Block> compare_results(const Analysis& analysis, const SectionSpec&) {
  std::vector<Block> blocks;
  for (const GroupAnalysis& group : analysis.groups) {
    blocks.emplace_back(results_table(analysis, group));
    if (has_spread(group)) blocks.emplace_back(details_table(analysis, group));
  }
  return blocks;
}

std::vector<Block> cross_warmup_and_interval(const Analysis& analysis, const SectionSpec&) {
  std::vector<Block> blocks;
  for (const GroupAnalysis& group : analysis.groups) {
    for (const auto& [family, arms] : families_of(group)) {
      const bool crossed =
          values_of(arms, kWarmup).size() > 1 && values_of(arms, kInterval).size() > 1;
      if (crossed) blocks.emplace_back(crossed_table(analysis, group, family, arms));
    }
  }
  if (blocks.empty()) return blocks;
  blocks.insert(
      blocks.begin(),
      Paragraph{"Mean ± standard deviation over runs. The background shows the difference "
                "to the baseline. * p < 0.05 without correction, which one in twenty "
                "settings without any effect reaches; ** after correction."});
  return blocks;
}

std::vector<Block> list_search(const Analysis& analysis, const SectionSpec&) {
  const std::vector<results::ArmResults>& arms = analysis.results->search;
  if (arms.empty()) return {};
  Table table{.caption = "Runs that served to choose", .in_latex = false};
  table.columns = {{"setting", false}, {"epochs"}, {"n"}, {analysis.metric_name}};
  for (const results::ArmResults& arm : arms) {
    std::map<double, std::vector<double>> by_epochs;
    for (const results::RunResult& run : arm.runs) {
      by_epochs[run.number("epochs").value_or(0)].push_back(*run.number(analysis.results->metric));
    }
    for (const auto& [epochs, values] : by_epochs) {
      table.rows.push_back({text_cell(arm.name), count_cell(epochs),
                            count_cell(static_cast<double>(values.size())),
                            spread_cell(statistics::describe(values))});
    }
  }
  return {Paragraph{"The winner was chosen on these runs, so their results flatter it and nothing "
                    "is claimed from them. The results above are of other seeds."},
          std::move(table)};
}

}  // namespace impart::report

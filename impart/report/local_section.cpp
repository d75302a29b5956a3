// Workers that train apart: what becoming one less often costs, and what it spares.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include "impart/report/escape.h"
#include "impart/report/numbers.h"
#include "impart/report/plot.h"
#include "impart/report/sections.h"
#include "impart/results/result_groups.h"
#include "impart/statistics/time_to_target.h"

namespace impart::report {
namespace {

constexpr std::size_t kLongestPlacement = 46;  ///< name in the picture
constexpr double kWireBytes = 8;               ///< beside the payload of an example that moves

bool differs_in_sync(const ArmAnalysis& arm) {
  return !results::setting(arm.arm->settings, "workers.sync").empty();
}

using Keys = std::set<std::string>;

results::SettingTexts with_only(const Keys& keys, results::SettingTexts settings) {
  std::erase_if(settings, [&](const auto& setting) { return !keys.contains(setting.first); });
  return settings;
}

std::size_t count_different(const GroupAnalysis& group, const Keys& keys) {
  std::set<results::SettingTexts> found;
  for (const ArmAnalysis& arm : group.arms) found.insert(with_only(keys, arm.arm->settings));
  return found.size();
}

/// As few keys as tell the placements of a group apart. That models become one at different times
/// does not make them different; a heuristic tells more than the epochs it has.
Keys telling_keys(const GroupAnalysis& group) {
  Keys keys;
  for (const ArmAnalysis& arm : group.arms) {
    for (const auto& [key, value] : arm.arm->settings) keys.insert(key);
  }
  keys.erase("workers.sync");
  const std::size_t different = count_different(group, keys);
  const std::vector<std::string> candidates(keys.rbegin(), keys.rend());
  for (const std::string& key : candidates) {
    keys.erase(key);
    if (count_different(group, keys) < different) keys.insert(key);
  }
  return keys;
}

bool stopped_at_target(const results::RunResult& run) {
  return run.number("stopped_at.reached").value_or(0) > 0;
}

std::string placement_of(const results::ArmResults& arm, const Keys& keys) {
  const std::string name = results::short_name(with_only(keys, arm.settings));
  return arm.settings.empty() ? arm.name : name;
}

/// How often all models were summed in the run; NaN if it is not known.
double sums_of(const results::RunResult& run) {
  const auto bytes = run.number("bytes_weights"), parameters = run.number("parameters"),
             workers = run.number("workers");
  if (!bytes || !parameters || !workers || *bytes == 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return *bytes / (8 * *parameters * (*workers - 1));
}

/// Whether runs of both that make the same visits make the same steps.
bool step_alike(const results::ArmResults& one, const results::ArmResults& other) {
  return results::setting(one.settings, "workers.count") ==
             results::setting(other.settings, "workers.count") &&
         results::setting(one.settings, "workers.batch") ==
             results::setting(other.settings, "workers.batch");
}

/// Absent in a line of a file of results, which has no epochs, if the run neither stopped by itself
/// nor summed in every step.
std::optional<double> told_steps(const results::ArmResults& arm, const results::RunResult& run) {
  if (!run.epochs.empty()) return static_cast<double>(run.epochs.back().step);
  if (const auto stopped = run.number("stopped_at.steps")) return stopped;
  if (results::setting(arm.settings, "workers.sync") != "step") return std::nullopt;
  const double sums = sums_of(run);
  return std::isfinite(sums) ? std::optional(sums) : std::nullopt;
}

/// Steps of a run of `arm`; NaN if they are not known. Where the run does not tell, its visits make
/// as many as those of another of this group that does.
double steps_of(const GroupAnalysis& group, const results::ArmResults& arm,
                const results::RunResult& run) {
  if (const auto steps = told_steps(arm, run)) return *steps;
  const auto visits = run.number("visits");
  for (const ArmAnalysis& other : group.arms) {
    if (!visits || !step_alike(arm, *other.arm)) continue;
    for (const results::RunResult& candidate : other.arm->runs) {
      const auto steps = told_steps(*other.arm, candidate);
      const double of_other = candidate.number("visits").value_or(0);
      if (steps && of_other > 0) return *steps * *visits / of_other;
    }
  }
  return std::numeric_limits<double>::quiet_NaN();
}

/// Steps between two sums, mean over an arm's runs.
double mean_steps_between(const GroupAnalysis& group, const ArmAnalysis& arm) {
  double sum = 0;
  for (const results::RunResult& run : arm.arm->runs) {
    sum += steps_of(group, *arm.arm, run) / sums_of(run);
  }
  return sum / static_cast<double>(arm.arm->runs.size());
}

/// Of examples that changed their worker, over the run.
double example_bytes(const results::RunResult& run) {
  const double examples = run.number("examples").value_or(0);
  const double payload =
      examples > 0 ? run.number("payload_bytes_total").value_or(0) / examples : 0;
  return run.number("examples_moved").value_or(0) * (payload + kWireBytes);
}

double mean_example_bytes(const ArmAnalysis& arm) {
  double sum = 0;
  for (const results::RunResult& run : arm.arm->runs) sum += example_bytes(run);
  return sum / static_cast<double>(arm.arm->runs.size());
}

/// How the target is named at which bytes are counted; empty if there is none. The target that is
/// given goes before the one at which runs stopped by themselves.
std::string target_text(const Analysis& analysis, const GroupAnalysis& group) {
  if (analysis.results->target) {
    return fmt::format("{} is {}", analysis.curve_name, *analysis.results->target);
  }
  const bool some_stopped =
      std::any_of(group.arms.begin(), group.arms.end(), [](const ArmAnalysis& arm) {
        return std::any_of(arm.arm->runs.begin(), arm.arm->runs.end(), stopped_at_target);
      });
  return some_stopped ? "a run stops at its target" : "";
}

/// Bytes of weights and examples until the target; absent if it was not reached. A run that goes on
/// behind a target that is given is taken to have the same share of them in every epoch.
std::optional<double> bytes_to_target(const Analysis& analysis, const results::RunResult& run) {
  const double all = run.number("bytes_weights").value_or(0) + example_bytes(run);
  if (!analysis.results->target) return stopped_at_target(run) ? std::optional(all) : std::nullopt;
  std::vector<double> epochs, values;
  for (const results::EpochResult& epoch : run.epochs) {
    epochs.push_back(epoch.epoch + 1);
    values.push_back(curve_value(epoch, analysis.results->metric));
  }
  const auto reached =
      statistics::first_reached(epochs, values, *analysis.results->target, analysis.better);
  if (!reached) return std::nullopt;
  return all * *reached / static_cast<double>(run.epochs.size());
}

std::optional<double> median_bytes_to_target(const Analysis& analysis, const ArmAnalysis& arm) {
  std::vector<std::optional<double>> bytes;
  for (const results::RunResult& run : arm.arm->runs) {
    bytes.push_back(bytes_to_target(analysis, run));
  }
  return statistics::summarise_times(bytes).median;
}

Table byte_table(const Analysis& analysis, const GroupAnalysis& group) {
  const std::string target = target_text(analysis, group);
  Table table{.caption = fmt::format("{}bytes of weights and of examples{}",
                                     caption_start(analysis, group), mean_over_runs(group))};
  table.columns = {{"setting", false},
                   {analysis.metric_name},
                   {"steps between", true, "two sums of gradients or weights"},
                   {"weights", true, "that all workers send in a ring, over the run"},
                   {"examples", true, "that change their worker, over the run"}};
  if (!target.empty()) {
    table.columns.push_back(
        {"to target", true,
         fmt::format("bytes of both until {}: median{}", target,
                     analysis.results->target ? ", as if epochs had equal shares" : "")});
  }
  for (const ArmAnalysis* arm : group.leaders(group.arms.size())) {
    table.rows.push_back({text_cell(arm->arm->name), spread_cell(arm->metric),
                          number_cell(mean_steps_between(group, *arm)),
                          bytes_cell(mean_number(*arm->arm, "bytes_weights")),
                          bytes_cell(mean_example_bytes(*arm))});
    if (target.empty()) continue;
    const auto bytes = median_bytes_to_target(analysis, *arm);
    table.rows.back().push_back(bytes ? bytes_cell(*bytes) : missing_cell());
  }
  return table;
}

/// The metric against the steps between two sums, a line for each placement.
Figure sync_figure(const Analysis& analysis, const GroupAnalysis& group) {
  std::map<std::string, std::vector<std::vector<double>>> lines;
  const Keys keys = telling_keys(group);
  for (const ArmAnalysis& arm : group.arms) {
    const double x = mean_steps_between(group, arm);
    const double spread = arm.metric.n > 1 ? arm.metric.std : 0;
    if (std::isfinite(x)) {
      lines[placement_of(*arm.arm, keys)].push_back({x, arm.metric.mean, spread});
    }
  }
  std::string blocks, plots;
  std::size_t series = 0;
  for (auto& [name, points] : lines) {
    std::sort(points.begin(), points.end());
    blocks += data_block(fmt::format("line{}", series), points);
    plots += fmt::format(
        "{0}$line{1} using 1:2:3 with yerrorlines lw 1.6 pt 7 ps 0.5 lc rgb '{2}' title {3}",
        series == 0 ? "" : ", ", series, series_colour(series),
        for_gnuplot(name, kLongestPlacement));
    ++series;
  }
  Figure figure{.name = "local-updates" + name_end(analysis, group),
                .caption = fmt::format("{}{} against the steps between two sums of weights, one "
                                       "line per placement; bars: one standard deviation.",
                                       caption_start(analysis, group), analysis.metric_name),
                .height = 365 + 20 * static_cast<int>(series)};
  const double bottom = (85.0 + 20.0 * static_cast<double>(series)) / figure.height;
  figure.script =
      figure_start() + blocks + axis_labels("steps between two sums", analysis.metric_name) +
      fmt::format("set logscale x\nset key maxrows {}\nset bmargin at screen {}\n", series,
                  bottom) +
      "set offsets graph 0.05, graph 0.05, graph 0.08, 0\nset yrange [0<*:*]\nplot " + plots + "\n";
  return figure;
}

/// "Fewest bytes of weights and examples until test accuracy (%) is 90: blocks sync=50 (1.2 GiB)."
std::optional<Paragraph> name_cheapest(const Analysis& analysis, const GroupAnalysis& group) {
  const ArmAnalysis* best = nullptr;
  double fewest = std::numeric_limits<double>::infinity();
  for (const ArmAnalysis& arm : group.arms) {
    const double bytes = median_bytes_to_target(analysis, arm).value_or(fewest);
    if (!(bytes < fewest)) continue;
    fewest = bytes;
    best = &arm;
  }
  if (best == nullptr) return std::nullopt;
  return Paragraph{fmt::format("Fewest bytes of weights and examples until {}: {} ({}).",
                               target_text(analysis, group), best->arm->name, bytes_text(fewest))};
}

}  // namespace

std::vector<Block> compare_syncs(const Analysis& analysis, const SectionSpec&) {
  std::vector<Block> blocks;
  for (const GroupAnalysis& group : analysis.groups) {
    const bool differ = std::any_of(group.arms.begin(), group.arms.end(), differs_in_sync);
    const bool known = std::any_of(group.arms.begin(), group.arms.end(), [&](const auto& arm) {
      return std::isfinite(mean_steps_between(group, arm));
    });
    if (!differ || !known) continue;
    if (auto cheapest = name_cheapest(analysis, group)) blocks.emplace_back(std::move(*cheapest));
    blocks.emplace_back(sync_figure(analysis, group));
    blocks.emplace_back(byte_table(analysis, group));
  }
  return blocks;
}

}  // namespace impart::report

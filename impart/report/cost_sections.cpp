#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "impart/report/escape.h"
#include "impart/report/numbers.h"
#include "impart/report/plot.h"
#include "impart/report/sections.h"
#include "impart/results/result_groups.h"
#include "impart/run/ledger_file.h"

namespace impart::report {
namespace {

/// Ledgers of more bytes than that are read of one run per arm only.
constexpr std::uintmax_t kMostLedgerBytes = 24 << 20;

bool any_number(const GroupAnalysis& group, std::string_view name) {
  return std::any_of(group.arms.begin(), group.arms.end(), [&](const ArmAnalysis& arm) {
    const double value = mean_number(*arm.arm, name);
    return std::isfinite(value) && value > 0;
  });
}

// ---- time to target ----

/// The target a study names, or 99 % of what the baseline (else the best arm) reaches in the mean.
struct Target {
  double value = 0;
  std::string origin = {};  ///< of what it is a part, for a caption
};

Target target_of(const Analysis& analysis, const GroupAnalysis& group) {
  if (analysis.results->target) return {*analysis.results->target};
  const ArmAnalysis& reference =
      group.baseline() != nullptr ? *group.baseline() : group.arms[group.ranking.front()];
  const double share = analysis.better == statistics::Better::kHigher ? 0.99 : 1.01;
  return {std::floor(reference.metric.mean * share * 10) / 10,
          fmt::format(" ({:.0f} % of what {} reaches)", 100 * share,
                      is_single_run(analysis) ? "it" : reference.arm->name)};
}

Cell times_cell(const ArmAnalysis& arm, const Analysis& analysis, double target,
                double results::EpochResult::*position, Cell (*cell)(double)) {
  std::vector<std::optional<double>> times;
  for (const results::RunResult& run : arm.arm->runs) {
    std::vector<double> positions;
    std::vector<double> values;
    for (const results::EpochResult& epoch : run.epochs) {
      if (!std::isfinite(epoch.*position)) return missing_cell();
      const double shift =
          position == &results::EpochResult::epoch ? 1 : 0;  // after so many epochs
      positions.push_back(epoch.*position + shift);
      values.push_back(curve_value(epoch, analysis.results->metric));
    }
    times.push_back(statistics::first_reached(positions, values, target, analysis.better));
  }
  const statistics::TargetTimes summary = statistics::summarise_times(times);
  return summary.median ? cell(*summary.median) : missing_cell();
}

Table target_table(const Analysis& analysis, const GroupAnalysis& group, const Target& target) {
  Table table{.caption = fmt::format("{}until {} is {} for the first time{}",
                                     caption_start(analysis, group), analysis.curve_name,
                                     number_text(target.value), target.origin)};
  table.columns = {{"setting", false},
                   {"reached", true, "runs that got there"},
                   {"epochs", true, "median over all runs"},
                   {"steps", true, "median over all runs"},
                   {"time", true, "median over all runs"}};
  for (const ArmAnalysis* arm : group.leaders(group.arms.size())) {
    std::size_t reached = 0;
    for (const results::RunResult& run : arm->arm->runs) {
      reached +=
          std::any_of(run.epochs.begin(), run.epochs.end(), [&](const results::EpochResult& epoch) {
            const double value = curve_value(epoch, analysis.results->metric);
            return analysis.better == statistics::Better::kHigher ? value >= target.value
                                                                  : value <= target.value;
          });
    }
    table.rows.push_back(
        {text_cell(arm->arm->name),
         {.text = fmt::format("{} of {}", reached, arm->arm->runs.size()),
          .value = static_cast<double>(reached)},
         times_cell(*arm, analysis, target.value, &results::EpochResult::epoch, count_cell),
         times_cell(*arm, analysis, target.value, &results::EpochResult::step, count_cell),
         times_cell(*arm, analysis, target.value, &results::EpochResult::seconds, seconds_cell)});
  }
  table.collapsed = table.rows.size() > 40;
  return table;
}

// ---- overheads ----

double repartitions_of(const results::ArmResults& arm) {
  double count = 0;
  for (const results::RunResult& run : arm.runs) {
    for (const results::EpochResult& epoch : run.epochs) count += epoch.repartitioned;
  }
  return count / static_cast<double>(arm.runs.size());
}

Table overhead_table(const Analysis& analysis, const GroupAnalysis& group) {
  Table table{.caption = fmt::format("{}what tracking and deciding cost{}",
                                     caption_start(analysis, group), mean_over_runs(group))};
  table.columns = {{"setting", false},
                   {"tracking per epoch", true, "collecting signals"},
                   {"share", true, "tracking, of the run's time"},
                   {"repartitionings", true, "and exchanges after the warm-up, per run"},
                   {"per repartitioning", true, "deciding who owns what"},
                   {"moving examples", true, "per run, as far as training waited for it"},
                   {"importance pass", true, "per run: extra forward passes"},
                   {"evaluation", true, "per run"},
                   {"run", true, "all of it"}};
  for (const ArmAnalysis* arm : group.leaders(group.arms.size())) {
    const results::ArmResults& results = *arm->arm;
    const auto seconds = [&](const char* name) { return mean_number(results, name); };
    const double tracking = seconds("seconds_tracking");
    const double total = seconds("seconds_total");
    const double repartitions = repartitions_of(results);
    table.rows.push_back(
        {text_cell(results.name),
         seconds_cell(tracking / seconds("epochs")),
         {.text = std::isfinite(tracking / total) ? fmt::format("{:.2f} %", 100 * tracking / total)
                                                  : "–",
          .value = tracking / total},
         count_cell(repartitions),
         repartitions > 0 ? seconds_cell(seconds("seconds_partition") / repartitions)
                          : missing_cell(),
         seconds_cell(seconds("seconds_exchange")),
         seconds_cell(seconds("seconds_importance_pass")),
         seconds_cell(seconds("seconds_eval")),
         seconds_cell(total)});
  }
  table.collapsed = table.rows.size() > 40;
  return table;
}

// ---- I/O and where the time went ----

constexpr std::size_t kPhaseCount = std::size(store::kPhases);

/// "weight exchange" for "weight_exchange".
std::string title_of(const store::Phase& phase) {
  std::string title(phase.name);
  std::replace(title.begin(), title.end(), '_', ' ');
  return title;
}

/// Where the time of an arm went: seconds per run, mean over runs and processes.
struct Breakdown {
  const ArmAnalysis* arm = nullptr;
  std::vector<double> seconds = std::vector<double>(kPhaseCount);
  double bytes_moved = 0;  ///< between workers
  std::size_t runs = 0;
  std::string trouble = {};
};

std::string ledger_path(const results::RunResult& run) {
  return run.folder + "/ledger.jsonl";
}

void add_ledger(const results::RunResult& run, Breakdown& breakdown) {
  if (!std::filesystem::exists(ledger_path(run))) return;
  for (const run::LedgerEpoch& epoch : run::read_ledger(ledger_path(run))) {
    breakdown.bytes_moved += static_cast<double>(run::total_over_workers(epoch).bytes_sent);
    const auto processes = static_cast<double>(epoch.processes.size());
    for (const run::ProcessCost& process : epoch.processes) {
      for (std::size_t i = 0; i < kPhaseCount; ++i) {
        breakdown.seconds[i] += process.seconds.*store::kPhases[i].seconds / processes;
      }
    }
  }
  ++breakdown.runs;
}

std::vector<Breakdown> read_breakdowns(const std::vector<const ArmAnalysis*>& arms) {
  std::uintmax_t bytes = 0;
  for (const ArmAnalysis* arm : arms) {
    for (const results::RunResult& run : arm->arm->runs) {
      std::error_code missing;
      const auto size = std::filesystem::file_size(ledger_path(run), missing);
      if (!missing) bytes += size;
    }
  }
  std::vector<Breakdown> breakdowns(arms.size());
  results::for_each_in_parallel(arms.size(), [&](std::size_t i) {
    breakdowns[i].arm = arms[i];
    const auto& runs = arms[i]->arm->runs;
    const std::size_t count = bytes > kMostLedgerBytes ? 1 : runs.size();
    try {
      for (std::size_t k = 0; k < count; ++k) add_ledger(runs[k], breakdowns[i]);
    } catch (const std::exception& error) {
      breakdowns[i].trouble = error.what();
      breakdowns[i].runs = 0;
    }
  });
  return breakdowns;
}

Cell moved_bytes_cell(const std::vector<Breakdown>& breakdowns, const ArmAnalysis& arm) {
  for (const Breakdown& one : breakdowns) {
    if (one.arm == &arm && one.runs > 0) {
      return bytes_cell(one.bytes_moved / static_cast<double>(one.runs));
    }
  }
  return missing_cell();
}

/// `breakdowns` has what the ledgers of the first arms say.
Table io_table(const Analysis& analysis, const GroupAnalysis& group,
               const std::vector<Breakdown>& breakdowns) {
  Table table{.caption = fmt::format("{}bytes and messages{}", caption_start(analysis, group),
                                     mean_over_runs(group))};
  table.columns = {{"setting", false},
                   {"from disk"},
                   {"between workers", true, "examples that moved, also within a process"},
                   {"over the network", true, "all that processes sent each other"},
                   {"messages"},
                   {"examples moved"},
                   {"peak stored", true, "most examples that one worker held"}};
  const bool shares_statistics = any_number(group, "bytes_statistics");
  if (shares_statistics) {
    table.columns.push_back({"for statistics", true, "of the network's: sums of batch norms"});
  }
  const bool has_peers = any_number(group, "bytes_peers");
  if (has_peers) {
    table.columns.push_back({"from the source", true, "the data set's own files or server"});
    table.columns.push_back({"from caches of others", true, "of the network's"});
  }
  for (const ArmAnalysis* arm : group.leaders(group.arms.size())) {
    const auto mean = [&](const char* name) { return mean_number(*arm->arm, name); };
    table.rows.push_back({text_cell(arm->arm->name), bytes_cell(mean("bytes_disk")),
                          moved_bytes_cell(breakdowns, *arm), bytes_cell(mean("bytes_network")),
                          count_cell(mean("messages")), count_cell(mean("examples_moved")),
                          count_cell(mean("peak_stored_examples"))});
    if (shares_statistics) table.rows.back().push_back(bytes_cell(mean("bytes_statistics")));
    if (!has_peers) continue;
    table.rows.back().push_back(bytes_cell(mean("bytes_source")));
    table.rows.back().push_back(bytes_cell(mean("bytes_peers")));
  }
  table.collapsed = table.rows.size() > 40;
  return table;
}

Table time_table(const Analysis& analysis, const GroupAnalysis& group,
                 const std::vector<Breakdown>& breakdowns) {
  Table table{.caption = fmt::format("{}where the time of a run went{}",
                                     caption_start(analysis, group), mean_over_runs(group)),
              .collapsed = true};
  table.columns = {{"setting", false}};
  for (const store::Phase& phase : store::kPhases) table.columns.push_back({title_of(phase)});
  for (const Breakdown& one : breakdowns) {
    if (!one.trouble.empty()) table.notes.push_back("Left out: " + one.trouble);
    if (one.runs == 0) continue;
    table.rows.push_back({text_cell(one.arm->arm->name)});
    for (const double seconds : one.seconds) {
      table.rows.back().push_back(seconds_cell(seconds / static_cast<double>(one.runs)));
    }
  }
  return table;
}

Figure time_figure(const Analysis& analysis, const GroupAnalysis& group,
                   const std::vector<Breakdown>& breakdowns) {
  std::vector<std::vector<double>> rows;
  std::string tics;
  for (const Breakdown& one : breakdowns) {
    if (one.runs == 0) continue;
    const auto y = static_cast<double>(rows.size());
    tics += (rows.empty() ? "" : ", ") + tic_label(one.arm->arm->name, -y, 24);
    rows.push_back({-y});
    double sum = 0;
    for (const double seconds : one.seconds) {
      rows.back().push_back(sum);
      sum += seconds / static_cast<double>(one.runs);
    }
    rows.back().push_back(sum);
  }
  std::string plots;
  for (std::size_t i = 0; i < kPhaseCount; ++i) {
    plots += fmt::format(
        "{}$time using {}:1:{}:{}:($1-0.35):($1+0.35) with boxxyerror fc rgb '{}' title '{}'",
        i == 0 ? "" : ", ", i + 2, i + 2, i + 3, series_colour(i), title_of(store::kPhases[i]));
  }
  Figure figure{.name = "time" + name_end(analysis, group),
                .caption = caption_start(analysis, group) + "seconds of a run by phase.",
                .height = 170 + 34 * static_cast<int>(rows.size())};
  figure.script = figure_start() + data_block("time", rows) +
                  "set style fill solid 0.9 noborder\nunset grid\nset grid xtics lt 1 lc rgb "
                  "'#9aa0a6' lw 0.4\nset xlabel 'seconds'\nset xrange [0:*]\n" +
                  fmt::format("set bmargin at screen {}\n", 145.0 / figure.height) +
                  fmt::format("set ytics ({})\nset yrange [{}:0.6]\nplot {}\n", tics,
                              0.4 - static_cast<double>(rows.size()), plots);
  return figure;
}

// ---- whether times can be compared ----

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  /// By a quarter and more.
  bool is_wide() const { return high > 1.25 * low; }
};

/// What was measured while the machine was busier for some runs than for others says little: runs
/// of one setting, which do the same work, then take different times.
std::vector<Block> caution_about_times(const Analysis& analysis) {
  Range loads, ratios;
  for (const GroupAnalysis& group : analysis.groups) {
    for (const ArmAnalysis& arm : group.arms) {
      Range seconds;
      for (const results::RunResult& run : arm.arm->runs) {
        if (const auto load = run.number("load_average")) loads.add(*load);
        if (const auto took = run.number("seconds_train")) seconds.add(*took);
      }
      if (seconds.low > 0 && seconds.high > 0) ratios.add(seconds.high / seconds.low);
    }
  }
  std::string reason;
  if (loads.is_wide() && loads.high > loads.low + 0.5) {
    reason = fmt::format("between {:.1f} and {:.1f} threads wanted to run on the machine",
                         loads.low, loads.high);
  }
  if (ratios.high > 1.25) {
    reason += fmt::format("{}runs of one setting took up to {:.1f} times as long as others of it",
                          reason.empty() ? "" : ", and ", ratios.high);
  }
  if (reason.empty()) return {};
  return {Paragraph{fmt::format(
      "Compare times with care: they were measured under different load; {}.", reason)}};
}

// ---- where runs stopped ----

bool has_stops(const GroupAnalysis& group) {
  return std::any_of(group.arms.begin(), group.arms.end(), [](const ArmAnalysis& arm) {
    return std::isfinite(mean_number(*arm.arm, "stopped_at.steps"));
  });
}

/// The median over all runs of an arm, of which some did not reach stop.at.
Cell stop_cell(const ArmAnalysis& arm, std::string_view name, Cell (*cell)(double),
               double shift = 0) {
  std::vector<std::optional<double>> times;
  for (const results::RunResult& run : arm.arm->runs) {
    const auto value = run.number(name);
    const bool reached = run.number("stopped_at.reached").value_or(0) > 0;
    times.push_back(value && reached ? std::optional(*value + shift) : std::nullopt);
  }
  const statistics::TargetTimes summary = statistics::summarise_times(times);
  return summary.median ? cell(*summary.median) : missing_cell();
}

Table stop_table(const Analysis& analysis, const GroupAnalysis& group) {
  Table table{.caption = caption_start(analysis, group) + "until stop.at was reached"};
  table.columns = {{"setting", false},
                   {"reached", true, "runs that got there"},
                   {"epochs", true, "median over all runs"},
                   {"visits", true, "median over all runs"},
                   {"steps", true, "median over all runs"},
                   {"time", true, "median over all runs"}};
  for (const ArmAnalysis* arm : group.leaders(group.arms.size())) {
    std::size_t reached = 0;
    for (const results::RunResult& run : arm->arm->runs) {
      reached += run.number("stopped_at.reached").value_or(0) > 0 ? 1 : 0;
    }
    table.rows.push_back({text_cell(arm->arm->name),
                          {.text = fmt::format("{} of {}", reached, arm->arm->runs.size()),
                           .value = static_cast<double>(reached)},
                          stop_cell(*arm, "stopped_at.epoch", count_cell, 1),
                          stop_cell(*arm, "stopped_at.visits", count_cell),
                          stop_cell(*arm, "stopped_at.steps", count_cell),
                          stop_cell(*arm, "stopped_at.seconds", seconds_cell)});
  }
  table.collapsed = table.rows.size() > 40;
  return table;
}

}  // namespace

std::vector<Block> time_to_target(const Analysis& analysis, const SectionSpec&) {
  const bool is_wanted = !is_single_run(analysis) || analysis.results->target;
  std::vector<Block> blocks;
  for (const GroupAnalysis& group : analysis.groups) {
    const bool stops = has_stops(group);
    if (stops) blocks.emplace_back(stop_table(analysis, group));
    const bool has_curves =
        std::any_of(group.arms.begin(), group.arms.end(),
                    [](const ArmAnalysis& arm) { return !arm.arm->runs.front().epochs.empty(); });
    if (!has_curves || !is_wanted || (stops && !analysis.results->target)) continue;
    blocks.emplace_back(target_table(analysis, group, target_of(analysis, group)));
  }
  if (!blocks.empty() && !is_single_run(analysis)) {
    blocks.emplace_back(
        Paragraph{"Medians count runs that did not get there as infinitely late; – "
                  "means that half of the runs or more did not.",
                  true});
  }
  return blocks;
}

std::vector<Block> count_overheads(const Analysis& analysis, const SectionSpec&) {
  std::vector<Block> blocks = caution_about_times(analysis);
  const std::size_t before = blocks.size();
  for (const GroupAnalysis& group : analysis.groups) {
    if (any_number(group, "seconds_total")) blocks.emplace_back(overhead_table(analysis, group));
  }
  if (blocks.size() == before) blocks.clear();
  return blocks;
}

std::vector<Block> count_io(const Analysis& analysis, const SectionSpec& spec) {
  std::vector<Block> blocks;
  bool has_times = false;
  for (const GroupAnalysis& group : analysis.groups) {
    const bool has_io = any_number(group, "bytes_disk") || any_number(group, "bytes_network") ||
                        any_number(group, "examples_moved");
    const auto breakdowns = read_breakdowns(group.leaders(spec.top));
    if (has_io) blocks.emplace_back(io_table(analysis, group, breakdowns));
    Table times = time_table(analysis, group, breakdowns);
    if (times.rows.empty()) continue;
    has_times = true;
    blocks.emplace_back(time_figure(analysis, group, breakdowns));
    blocks.emplace_back(std::move(times));
  }
  if (has_times) {
    const auto caution = caution_about_times(analysis);
    blocks.insert(blocks.begin(), caution.begin(), caution.end());
  }
  return blocks;
}

}  // namespace impart::report

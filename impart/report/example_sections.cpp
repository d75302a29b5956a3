#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "impart/config/config.h"
#include "impart/core/error.h"
#include "impart/placement/partition.h"
#include "impart/report/escape.h"
#include "impart/report/example_files.h"
#include "impart/report/example_runs.h"
#include "impart/report/numbers.h"
#include "impart/report/plot.h"
#include "impart/report/sections.h"
#include "impart/results/run_results.h"
#include "impart/statistics/spearman.h"

namespace impart::report {
namespace {

constexpr std::size_t kMostPoints = 5000;
constexpr std::size_t kMostWorkers = 8;
constexpr std::size_t kParts = 10;  ///< of a ranking

// ---- data map ----

Figure data_map(const Analysis& analysis, const Example& example, const NotionColumns& columns) {
  // Notions are larger for harder examples; the map shows the probability and the share of right.
  const auto& hardness = columns.find("confidence")->second;
  const auto& variability = columns.find("variability")->second;
  const auto wrong = columns.find("correctness");
  const Labels labels = read_labels(example.run->folder);
  const bool has_labels = labels.numbers.size() == hardness.size();
  std::vector<std::vector<std::vector<double>>> points(std::size(kScaleColours));
  std::vector<std::vector<DotNote>> notes(points.size());
  const auto chosen = evenly_spaced(hardness.size(), kMostPoints);
  for (const std::size_t i : chosen) {
    if (!std::isfinite(hardness[i]) || !std::isfinite(variability[i])) continue;
    const double right = wrong == columns.end() ? 1 : 1 - wrong->second[i];
    const auto step = static_cast<std::size_t>(std::clamp(
        right * static_cast<double>(points.size()), 0.0, static_cast<double>(points.size()) - 1));
    // A dot outside of the axes would not be drawn.
    points[step].push_back({variability[i], std::clamp(1 - hardness[i], 0.0, 1.0)});
    notes[step].push_back({i, has_labels ? labels.numbers[i] : 0});
  }
  HoverNotes hover{.pictures = pictures_of(*example.group), .labels = labels.names};
  std::string blocks;
  std::string plots;
  for (std::size_t step = 0; step < points.size(); ++step) {
    if (points[step].empty()) continue;
    hover.dots.insert(hover.dots.end(), notes[step].begin(), notes[step].end());
    blocks += data_block(fmt::format("step{}", step), points[step]);
    const std::string title =
        wrong == columns.end() ? "examples" : fmt::format("{}–{} %", 20 * step, 20 * (step + 1));
    plots += fmt::format(
        "{0}$step{1} using 1:2 with points pt 7 ps 0.22 lc rgb '{2}' notitle, keyentry with points "
        "pt 7 ps 0.8 lc rgb '{2}' title '{3}'",
        plots.empty() ? "" : ", ", step, kScaleColours[step], title);
  }
  Figure figure{.name = file_name("data-map", analysis, example),
                .caption = fmt::format(
                    "{}{}: mean probability of the true class (confidence) against its standard "
                    "deviation over visits (variability); colour: share of visits with a right "
                    "prediction. {} of {} examples.",
                    caption_start(analysis, *example.group), example.name(),
                    count_text(static_cast<double>(chosen.size())),
                    count_text(static_cast<double>(hardness.size()))),
                .height = 500,
                .hover = std::move(hover)};
  figure.script = figure_start() + blocks + axis_labels("variability", "confidence") +
                  "set key title 'share of visits with a right prediction' center\n"
                  "set bmargin 7\nset xrange [0:*]\nset yrange [0:*<1]\nplot " +
                  plots + "\n";
  return figure;
}

// ---- parts of the workers ----

/// For each worker the share of its examples in each tenth of the ranking, easiest first.
std::vector<std::vector<double>> shares_by_tenth(const placement::Partition& partition,
                                                 const std::vector<double>& importance) {
  if (partition.examples() != importance.size()) {
    throw DataError(fmt::format("a partition of {} examples, but importance of {}",
                                partition.examples(), importance.size()));
  }
  std::vector<std::size_t> ranking(importance.size());
  std::iota(ranking.begin(), ranking.end(), 0);
  const auto key = [&](std::size_t i) {
    return std::isfinite(importance[i]) ? importance[i] : HUGE_VAL;
  };
  std::stable_sort(ranking.begin(), ranking.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  std::vector<std::vector<double>> shares(partition.workers(), std::vector<double>(kParts));
  std::vector<double> sizes(partition.workers());
  const auto owners = partition.owners();
  for (std::size_t rank = 0; rank < ranking.size(); ++rank) {
    const auto owner = static_cast<std::size_t>(owners[ranking[rank]]);
    shares[owner][rank * kParts / ranking.size()] += 1;
    sizes[owner] += 1;
  }
  for (std::size_t worker = 0; worker < shares.size(); ++worker) {
    for (double& share : shares[worker]) share *= 100 / std::max(sizes[worker], 1.0);
  }
  return shares;
}

/// Columns: tenth, then a share for each worker.
std::string shares_block(const char* name, const std::vector<std::vector<double>>& shares) {
  std::vector<std::vector<double>> rows;
  for (std::size_t part = 0; part < kParts; ++part) {
    rows.push_back({static_cast<double>(part + 1)});
    for (std::size_t worker = 0; worker < std::min(shares.size(), kMostWorkers); ++worker) {
      rows.back().push_back(shares[worker][part]);
    }
  }
  return data_block(name, rows);
}

std::string worker_lines(const char* block, std::size_t workers) {
  std::string plots;
  for (std::size_t worker = 0; worker < std::min(workers, kMostWorkers); ++worker) {
    plots += fmt::format("{}${} using 1:{} with histeps lw 1.8 lc rgb '{}' title 'worker {}'",
                         worker == 0 ? "" : ", ", block, worker + 2, series_colour(worker), worker);
  }
  return plots;
}

std::optional<Figure> worker_histograms(const Analysis& analysis, const Example& example) {
  const auto saved = saved_partitions(example.run->folder);
  const results::SettingTexts config = results::flatten_config(example.run->config);
  const std::string notion(results::setting(config, "importance.notion"));
  const bool by_importance = results::setting(config, "partition.heuristic") != "random" ||
                             results::setting(config, "exchange.strategy") != config::kNoExchange;
  const auto first_by_importance =
      std::find_if(example.run->epochs.begin(), example.run->epochs.end(),
                   [](const results::EpochResult& epoch) { return epoch.repartitioned; });
  if (saved.size() < 2 || notion.empty() || !by_importance ||
      first_by_importance == example.run->epochs.end()) {
    return std::nullopt;
  }
  const auto columns = read_notions(example.run->folder, {notion});
  const auto after = std::prev(saved.end());
  auto before = saved.lower_bound(static_cast<std::uint32_t>(first_by_importance->epoch));
  if (before == saved.begin()) return std::nullopt;
  --before;
  const auto& importance = columns.begin()->second;
  const auto shares_before = shares_by_tenth(placement::read_partition(before->second), importance);
  const auto shares_after = shares_by_tenth(placement::read_partition(after->second), importance);
  const std::size_t workers = shares_after.size();
  double largest = 0;
  for (const auto* shares : {&shares_before, &shares_after}) {
    for (const auto& worker : *shares) largest = std::max(largest, std::ranges::max(worker));
  }
  Figure figure{.name = file_name("workers", analysis, example),
                .caption = fmt::format(
                    "{}{}: share of each worker's examples in each tenth of the ranking by {} at "
                    "the end of the run (1: easiest, 10: hardest); left the random partition of "
                    "epoch {}, right that of epoch {}.{}",
                    caption_start(analysis, *example.group), example.name(), notion,
                    before->first + 1, after->first + 1,
                    workers > kMostWorkers
                        ? fmt::format(" The first {} of {} workers.", kMostWorkers, workers)
                        : ""),
                .height = 380};
  figure.script =
      figure_start() + shares_block("before", shares_before) + shares_block("after", shares_after) +
      fmt::format("set yrange [0:{}]\n", 1.1 * largest) +
      "set multiplot\nset xrange [0.5:10.5]\nset xtics 1\n"
      "set bmargin 6.5\nset lmargin at screen (narrow ? 0.18 : 0.11)\n"
      "set rmargin at screen (narrow ? 0.54 : 0.5)\n" +
      axis_labels("tenth of the ranking", "share of examples (%)") +
      "if (narrow) {set xlabel 'tenth'; set xtics 3}\nplot " + worker_lines("before", workers) +
      "\nunset key\nunset ylabel\nset lmargin at screen 0.58\nset rmargin at screen "
      "0.98\nplot " +
      worker_lines("after", workers) + "\nunset multiplot\n";
  return figure;
}

// ---- rank correlation ----

Cell correlation_cell(const std::vector<double>& a, const std::vector<double>& b) {
  const auto correlation = statistics::rank_correlation(Scores(a), Scores(b));
  if (!correlation) return missing_cell();
  return {
      .text = fmt::format("{}{:.2f}", correlation->rho < 0 ? "−" : "", std::abs(correlation->rho)),
      .value = correlation->rho,
      .shade = correlation->rho};
}

Table correlation_table(const Analysis& analysis, const Example& example,
                        const NotionColumns& columns) {
  Table table{.caption = fmt::format("{}{}: Spearman's rank correlation between notions",
                                     caption_start(analysis, *example.group), example.name())};
  table.columns = {{"notion", false}};
  NotionColumns sample;
  for (const auto& [name, values] : columns) {
    table.columns.push_back({name});
    for (const std::size_t i : evenly_spaced(values.size(), kMostPoints)) {
      sample[name].push_back(values[i]);
    }
  }
  for (const auto& [name, values] : sample) {
    table.rows.push_back({text_cell(name)});
    for (const auto& [other, others] : sample) {
      table.rows.back().push_back(correlation_cell(values, others));
    }
  }
  return table;
}

/// How much the ranking by loss at an epoch is that of the last one.
std::vector<std::vector<double>> stability_of(const std::vector<std::vector<double>>& history) {
  std::vector<std::vector<double>> rows;
  const std::size_t stride = (history.size() + 99) / 100;
  for (std::size_t epoch = 0; epoch + 1 < history.size(); epoch += stride) {
    const auto last = statistics::rank_correlation(Scores(history[epoch]), Scores(history.back()));
    const auto next =
        statistics::rank_correlation(Scores(history[epoch]), Scores(history[epoch + 1]));
    rows.push_back({static_cast<double>(epoch + 1), last ? last->rho : std::nan(""),
                    next ? next->rho : std::nan("")});
  }
  return rows;
}

}  // namespace

std::vector<Block> map_data(const Analysis& analysis, const SectionSpec&) {
  std::vector<Block> blocks;
  for_example_runs(analysis, blocks, [&](const Example& example) {
    std::vector<std::string> wanted;
    for (const std::string& name : recorded_notions(example.run->folder)) {
      if (name == "confidence" || name == "variability" || name == "correctness") {
        wanted.push_back(name);
      }
    }
    const auto has = [&](const char* name) {
      return std::find(wanted.begin(), wanted.end(), name) != wanted.end();
    };
    if (!has("confidence") || !has("variability")) return false;
    const NotionColumns columns = read_notions(example.run->folder, wanted);
    // Where a window is one visit long, as in vanilla training, nothing varies in it.
    const auto& variability = columns.find("variability")->second;
    if (std::none_of(variability.begin(), variability.end(), [](double v) { return v > 0; })) {
      return false;
    }
    blocks.emplace_back(data_map(analysis, example, columns));
    return true;
  });
  return blocks;
}

std::vector<Block> show_worker_histograms(const Analysis& analysis, const SectionSpec&) {
  std::vector<Block> blocks;
  for_example_runs(analysis, blocks, [&](const Example& example) {
    auto figure = worker_histograms(analysis, example);
    if (figure) blocks.emplace_back(std::move(*figure));
    return figure.has_value();
  });
  return blocks;
}

std::vector<Block> correlate_notions(const Analysis& analysis, const SectionSpec&) {
  std::vector<Block> blocks;
  const GroupAnalysis* done = nullptr;
  for_example_runs(analysis, blocks, [&](const Example& example) {
    const auto names = recorded_notions(example.run->folder);
    if (names.size() < 2 || done == example.group) return false;
    done = example.group;  // one table per group
    blocks.emplace_back(
        correlation_table(analysis, example, read_notions(example.run->folder, names)));
    return true;
  });
  std::string data;
  std::string plots;
  std::size_t count = 0;
  for_example_runs(analysis, blocks, [&](const Example& example) {
    const auto history = read_history(example.run->folder, kMostPoints);
    if (history.size() < 3) return false;
    data += data_block(fmt::format("run{}", count), stability_of(history));
    const std::string title = caption_start(analysis, *example.group) + example.arm->arm->name;
    plots += fmt::format(
        "{}$run{} using 1:2 with lines lw 1.8 lc rgb '{}' title {}, $run{} using 1:3 with lines lw "
        "1 dt 3 lc rgb '{}' notitle",
        plots.empty() ? "" : ", ", count, series_colour(count), for_gnuplot(title, 32), count,
        series_colour(count));
    ++count;
    return true;
  });
  if (count == 0) return blocks;
  Figure figure{.name = "rank-correlation",
                .caption =
                    "Spearman's rank correlation of the losses of an epoch with those of the "
                    "last epoch (lines) and of the next (dotted), first seed of each arm."};
  figure.script = figure_start() + data + axis_labels("epoch", "rank correlation") +
                  "set yrange [*:1]\nplot " + plots + "\n";
  blocks.emplace_back(std::move(figure));
  return blocks;
}

}  // namespace impart::report

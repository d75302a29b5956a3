#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "impart/config/config.h"
#include "impart/config/schema.h"
#include "impart/report/escape.h"
#include "impart/report/numbers.h"
#include "impart/report/plot.h"
#include "impart/report/sections.h"
#include "impart/results/run_results.h"
#include "impart/statistics/holm.h"
#include "impart/statistics/interval.h"
#include "impart/statistics/non_inferiority.h"

namespace impart::report {
namespace {

/// Points of accuracy that an exchange may be worse than the baseline and still suffice.
constexpr double kExchangeMargin = 0.5;
constexpr double kSure = 0.05;  ///< p below which that counts as shown
constexpr std::size_t kLongestLine = 34;

/// An arm that exchanges: a point of a curve.
struct ExchangePoint {
  const ArmAnalysis* arm = nullptr;
  double fraction = 0;
  std::optional<statistics::NonInferiority> judged = {};
  double adjusted_p = std::nan("");  ///< by Holm, over all points of the group
};

/// A strategy, and what else sets it apart from other lines; points by fraction.
struct ExchangeLine {
  std::string name;
  std::vector<ExchangePoint> points = {};
};

/// All keys; of results in one file those that differ between arms.
results::SettingTexts config_of(const ArmAnalysis& arm) {
  const auto& runs = arm.arm->runs;
  if (runs.empty() || runs.front().config.empty()) return arm.arm->settings;
  return results::flatten_config(runs.front().config);
}

std::optional<double> exchanged_fraction(const results::SettingTexts& config) {
  const std::string_view strategy = results::setting(config, "exchange.strategy");
  if (strategy.empty() || strategy == config::kNoExchange) return std::nullopt;
  const std::string_view text = results::setting(config, "exchange.fraction");
  double fraction = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), fraction);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return fraction;
}

/// The keys, besides strategy and fraction, in which these configurations really differ.
std::vector<std::string> other_keys(const std::vector<results::SettingTexts>& configs) {
  std::vector<std::string> differing;
  for (const config::ConfigKey& key : config::make_schema(config::kAnyProgram)) {
    const std::string path = key.path();
    if (!key.changes_result || path.starts_with("seed") || path == "exchange.strategy" ||
        path == "exchange.fraction") {
      continue;
    }
    std::set<std::string_view> values;
    for (const auto& config : configs) values.insert(results::setting(config, path));
    if (values.size() > 1) differing.push_back(path);
  }
  return differing;
}

/// "is-pair", "is-pair batch_norm=shared"
std::string line_name(const results::SettingTexts& config, const std::vector<std::string>& others) {
  std::string name(results::setting(config, "exchange.strategy"));
  for (const std::string& key : others) {
    name += fmt::format(" {}={}", key.substr(key.find('.') + 1), results::setting(config, key));
  }
  return name;
}

/// Fills in how sure it is that each point is not worse than the baseline by more than the margin.
void judge(const Analysis& analysis, std::vector<ExchangeLine>& lines) {
  if (analysis.unit != "%") return;
  std::vector<double> p;
  std::vector<ExchangePoint*> judged;
  for (ExchangeLine& line : lines) {
    for (ExchangePoint& point : line.points) {
      if (point.arm->comparison == nullptr || !point.arm->comparison->paired) continue;
      point.judged = statistics::test_non_inferiority(*point.arm->comparison->paired,
                                                      analysis.better, kExchangeMargin);
      if (!point.judged) continue;
      p.push_back(point.judged->p);
      judged.push_back(&point);
    }
  }
  const std::vector<double> adjusted = statistics::adjust_by_holm(p);
  for (std::size_t i = 0; i < judged.size(); ++i) judged[i]->adjusted_p = adjusted[i];
}

/// None if no strategy was tried with several fractions.
std::vector<ExchangeLine> find_lines(const Analysis& analysis, const GroupAnalysis& group) {
  std::vector<const ArmAnalysis*> arms;
  std::vector<results::SettingTexts> configs;
  for (const ArmAnalysis& arm : group.arms) {
    results::SettingTexts config = config_of(arm);
    if (!exchanged_fraction(config)) continue;
    arms.push_back(&arm);
    configs.push_back(std::move(config));
  }
  const std::vector<std::string> others = other_keys(configs);
  std::vector<ExchangeLine> lines;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const std::string name = line_name(configs[i], others);
    auto line = std::find_if(lines.begin(), lines.end(),
                             [&](const ExchangeLine& one) { return one.name == name; });
    if (line == lines.end()) line = lines.insert(lines.end(), {.name = name});
    line->points.push_back({.arm = arms[i], .fraction = *exchanged_fraction(configs[i])});
  }
  for (ExchangeLine& line : lines) {
    std::sort(line.points.begin(), line.points.end(),
              [](const auto& a, const auto& b) { return a.fraction < b.fraction; });
  }
  if (std::none_of(lines.begin(), lines.end(),
                   [](const ExchangeLine& line) { return line.points.size() > 1; })) {
    return {};
  }
  judge(analysis, lines);
  return lines;
}

/// Mean, and the ends of its 95 % interval; both the mean for a single run.
std::vector<double> interval_row(const ArmAnalysis& arm) {
  if (arm.values.size() < 2) return {arm.metric.mean, arm.metric.mean, arm.metric.mean};
  const statistics::Interval interval = statistics::mean_interval(arm.values);
  return {arm.metric.mean, interval.low, interval.high};
}

Figure fraction_figure(const Analysis& analysis, const GroupAnalysis& group,
                       const std::vector<ExchangeLine>& lines) {
  std::string blocks;
  std::string plots;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::vector<double>> rows;
    for (const ExchangePoint& point : lines[i].points) {
      const auto interval = interval_row(*point.arm);
      rows.push_back({point.fraction, interval[0], interval[1], interval[2]});
    }
    blocks += data_block(fmt::format("line{}", i), rows);
    plots += fmt::format(
        "{0}$line{1} using 1:2 with lines lw 1.8 lc rgb '{2}' title {3}, $line{1} using 1:2:3:4 "
        "with "
        "yerrorbars pt 7 ps 0.5 lw 1.2 lc rgb '{2}' notitle",
        i == 0 ? "" : ", ", i, series_colour(i), for_gnuplot(lines[i].name, kLongestLine));
  }
  if (group.baseline() != nullptr) {
    const auto interval = interval_row(*group.baseline());
    plots += fmt::format(
        ", {} with lines lw 1.5 lc rgb '{}' title {}, {} with lines dt 3 lc rgb '{}' notitle, {} "
        "with lines dt 3 lc rgb '{}' notitle",
        interval[0], kBaselineColour, for_gnuplot(group.baseline()->arm->name, kLongestLine),
        interval[1], kBaselineColour, interval[2], kBaselineColour);
  }
  const std::string unit = analysis.unit.empty() ? "" : " (" + analysis.unit + ")";
  return {
      .name = "exchange" + name_end(analysis, group),
      .caption = fmt::format(
          "{}{} against the share of its part that a worker gives away between two epochs; mean "
          "and 95 % interval over runs.",
          caption_start(analysis, group), analysis.metric_name),
      .script = figure_start() + blocks +
                axis_labels("exchanged fraction", analysis.metric_name + unit) +
                "set xrange [0:*]\nset offsets graph 0.03,graph 0.03,graph 0.05,graph 0.05\n" +
                "plot " + plots + "\n"};
}

/// The mean over runs of a number that epochs have; epochs in which no run has it are left out.
std::vector<std::vector<double>> epoch_means(const results::ArmResults& arm,
                                             double results::EpochResult::*number) {
  std::map<std::size_t, std::vector<double>> values;
  for (const results::RunResult& run : arm.runs) {
    for (std::size_t epoch = 0; epoch < run.epochs.size(); ++epoch) {
      const double value = run.epochs[epoch].*number;
      if (std::isfinite(value)) values[epoch].push_back(value);
    }
  }
  std::vector<std::vector<double>> rows;
  for (const auto& [epoch, found] : values) {
    rows.push_back({static_cast<double>(epoch + 1), statistics::mean_of(found)});
  }
  return rows;
}

double last_mean(const ArmAnalysis& arm, double results::EpochResult::*number) {
  const auto rows = epoch_means(*arm.arm, number);
  return rows.empty() ? std::nan("") : rows.back()[1];
}

/// A number of epochs that says how alike the workers have become.
struct Course {
  std::string_view name;
  double results::EpochResult::*number;
  std::string_view meaning;  ///< for the caption
  std::string_view label;
  std::string_view range;
};

constexpr Course kCourses[] = {
    {"mixing", &results::EpochResult::mixed,
     "share of the examples whose owner is not that of the start", "mixed", "[0:1]"},
    {"dissimilarity", &results::EpochResult::dissimilarity,
     "how much the gradients of the workers' parts differ: their mean squared distance from the "
     "mean gradient, as a multiple of its square",
     "dissimilarity of gradients", "[0:*]"},
};

/// One line per arm: the best of the settings, which are enough to see how fractions differ. None
/// if no arm has the number in two epochs.
std::optional<Figure> course_figure(const Analysis& analysis, const GroupAnalysis& group,
                                    const SectionSpec& spec, const Course& course) {
  std::string blocks;
  std::string plots;
  std::size_t colour = 0, drawn = 0;
  for (const ArmAnalysis* arm : group.leaders(spec.top)) {
    const auto rows = epoch_means(*arm->arm, course.number);
    if (rows.size() < 2) continue;
    const std::string look(arm->is_baseline ? kBaselineColour : series_colour(colour++));
    const std::string name = fmt::format("course{}", drawn++);
    blocks += data_block(name, rows);
    plots += fmt::format("{}${} using 1:2 with lines lw 1.8 lc rgb '{}' title {}",
                         plots.empty() ? "" : ", ", name, look,
                         for_gnuplot(arm->arm->name, kLongestLine));
  }
  if (plots.empty()) return std::nullopt;
  return Figure{.name = std::string(course.name) + name_end(analysis, group),
                .caption = fmt::format("{}{}, by epoch{}.", caption_start(analysis, group),
                                       course.meaning, mean_over_runs(group)),
                .script = figure_start() + blocks + axis_labels("epoch", course.label) +
                          fmt::format("set yrange {}\nplot {}\n", course.range, plots)};
}

/// What the examples that moved weigh, sent or not.
double moved_bytes(const ArmAnalysis& arm) {
  return mean_number(*arm.arm, "examples_moved") * mean_number(*arm.arm, "payload_bytes_total") /
         mean_number(*arm.arm, "examples");
}

std::vector<Cell> cost_cells(const ArmAnalysis& arm) {
  const auto epochs = mean_number(*arm.arm, "epochs");
  return {count_cell(mean_number(*arm.arm, "examples_moved") / epochs),
          bytes_cell(moved_bytes(arm) / epochs),
          count_cell(mean_number(*arm.arm, "messages") / epochs),
          number_cell(last_mean(arm, &results::EpochResult::mixed)),
          number_cell(last_mean(arm, &results::EpochResult::seen)),
          number_cell(last_mean(arm, &results::EpochResult::mean_class_skew))};
}

void add_row(Table& table, std::vector<Cell> cells, const ArmAnalysis& arm) {
  for (Cell& cell : cost_cells(arm)) cells.push_back(std::move(cell));
  table.rows.push_back(std::move(cells));
}

Cell sureness_cell(const ExchangePoint& point) {
  if (!std::isfinite(point.adjusted_p)) return missing_cell();
  return {.text = p_text(point.adjusted_p),
          .value = point.adjusted_p,
          .tone = point.adjusted_p < kSure ? Cell::Tone::kBetter : Cell::Tone::kPlain};
}

Table exchange_table(const Analysis& analysis, const GroupAnalysis& group,
                     const std::vector<ExchangeLine>& lines) {
  Table table{.caption = fmt::format("{}what is exchanged, what it costs and what it is worth{}",
                                     caption_start(analysis, group), mean_over_runs(group))};
  table.columns = {{"strategy", false},
                   {"fraction", true, "of its part that a worker gives away"},
                   {analysis.metric_name},
                   {"p not worse", true,
                    fmt::format("than the baseline by more than {} points: one-sided paired "
                                "t-test, corrected by Holm over all rows",
                                kExchangeMargin)},
                   {"moved", true, "examples, per epoch"},
                   {"bytes", true, "of these examples, per epoch"},
                   {"messages", true, "pairs of workers that send anything, per epoch"},
                   {"mixed", true, "share with another owner than at the start, at the end"},
                   {"seen", true, "share of the data that a worker has owned, at the end"},
                   {"class skew", true, "mean over the workers, at the end"}};
  std::set<const ArmAnalysis*> shown;
  for (const ExchangeLine& line : lines) {
    for (const ExchangePoint& point : line.points) {
      add_row(table,
              {text_cell(line.name), number_cell(point.fraction), spread_cell(point.arm->metric),
               sureness_cell(point)},
              *point.arm);
      shown.insert(point.arm);
    }
  }
  for (const ArmAnalysis& arm : group.arms) {
    if (shown.contains(&arm)) continue;
    add_row(table,
            {text_cell(arm.arm->name), missing_cell(), spread_cell(arm.metric), missing_cell()},
            arm);
  }
  return table;
}

/// "is-pair: 0.3 is the smallest fraction that is not worse than global by more than 0.5 points."
std::string sentence_about(const ExchangeLine& line, const std::string& baseline) {
  const auto enough =
      std::find_if(line.points.begin(), line.points.end(),
                   [](const ExchangePoint& point) { return point.adjusted_p < kSure; });
  if (enough == line.points.end()) {
    return fmt::format(
        "{}: for no fraction is it shown that it is not worse than {} by more than {} points.",
        line.name, baseline, kExchangeMargin);
  }
  return fmt::format(
      "{}: {} is the smallest fraction of which it is shown that it is not worse than {} by more "
      "than {} points (p = {}, corrected by Holm): {} and {} messages per epoch.",
      line.name, enough->fraction, baseline, kExchangeMargin, p_text(enough->adjusted_p),
      bytes_text(moved_bytes(*enough->arm) / mean_number(*enough->arm->arm, "epochs")),
      count_text(mean_number(*enough->arm->arm, "messages") /
                 mean_number(*enough->arm->arm, "epochs")));
}

}  // namespace

std::vector<Block> compare_exchanges(const Analysis& analysis, const SectionSpec& spec) {
  std::vector<Block> blocks;
  for (const GroupAnalysis& group : analysis.groups) {
    const std::vector<ExchangeLine> lines = find_lines(analysis, group);
    if (lines.empty()) continue;
    if (group.baseline() != nullptr && analysis.unit == "%") {
      for (const ExchangeLine& line : lines) {
        blocks.push_back(Paragraph{sentence_about(line, group.baseline()->arm->name)});
      }
    }
    blocks.push_back(fraction_figure(analysis, group, lines));
    blocks.push_back(exchange_table(analysis, group, lines));
    for (const Course& course : kCourses) {
      auto figure = course_figure(analysis, group, spec, course);
      if (figure) blocks.push_back(std::move(*figure));
    }
  }
  return blocks;
}

}  // namespace impart::report

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "impart/report/escape.h"
#include "impart/report/plot.h"
#include "impart/report/sections.h"

namespace impart::report {
namespace {

/// Beyond so many points a line on a screen looks the same.
constexpr std::size_t kMostEpochs = 200;
constexpr std::size_t kCurvesShown = 4;
constexpr std::size_t kLongestName = 34;  ///< of an arm, in a picture

std::string colour_of(const ArmAnalysis& arm, std::size_t& next) {
  return std::string(arm.is_baseline ? kBaselineColour : series_colour(next++));
}

/// The farthest run that is no more than 1.5 times the box away from it, on either side.
std::pair<double, double> whiskers_of(const ArmAnalysis& arm) {
  const double reach = 1.5 * (arm.metric.upper_quartile - arm.metric.lower_quartile);
  std::pair ends = {arm.metric.lower_quartile, arm.metric.upper_quartile};
  for (const double value : arm.values) {
    if (value >= arm.metric.lower_quartile - reach) ends.first = std::min(ends.first, value);
    if (value <= arm.metric.upper_quartile + reach) ends.second = std::max(ends.second, value);
  }
  return ends;
}

/// A box, its median and the runs of one arm, at position i of the picture.
std::string box_of(const ArmAnalysis& arm, std::size_t i, const std::string& look,
                   std::string& blocks) {
  const auto x = static_cast<double>(i);
  std::vector<std::vector<double>> dots;
  for (std::size_t k = 0; k < arm.values.size(); ++k) {
    // Dots stand side by side instead of on top of each other.
    dots.push_back({x + 0.08 * (static_cast<double>(k % 5) - 2), arm.values[k]});
  }
  const auto [low, high] = whiskers_of(arm);
  blocks += data_block(fmt::format("dots{}", i), dots);
  blocks += data_block(fmt::format("box{}", i), {{x, arm.metric.lower_quartile, low, high,
                                                  arm.metric.upper_quartile, arm.metric.median}});
  return fmt::format(
      "$box{0} using 1:2:3:4:5 notitle with candlesticks lc rgb '{1}' lw 1.3 whiskerbars 0.4, "
      "$box{0} using ($1-0.275):6:(0.55):(0) with vectors nohead lc rgb '{1}' lw 2.5 notitle, "
      "$dots{0} using 1:2 with points pt 7 ps 0.45 lc rgb '{1}' notitle",
      i, look);
}

std::string box_caption(const Analysis& analysis, const GroupAnalysis& group, std::size_t shown) {
  std::string text = caption_start(analysis, group) + analysis.metric_name;
  if (shown < group.ranking.size()) {
    text += fmt::format(
        " of the {}{} best of {} settings, which were chosen on this very metric: it flatters "
        "them.",
        group.baseline() != nullptr ? "baseline and the " : "", shown, group.ranking.size());
  } else {
    text += " of all settings, best first.";
  }
  return text + " Box: quartiles and median; whiskers: at most 1.5 times the box; dots: runs.";
}

Figure box_plot(const Analysis& analysis, const GroupAnalysis& group, const SectionSpec& spec) {
  const auto arms = group.leaders(spec.top);
  std::string blocks;
  std::string plots;
  std::string tics;
  std::size_t colour = 0;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const std::string look = colour_of(*arms[i], colour);
    longest = std::clamp(length_of(arms[i]->arm->name), longest, kLongestName);
    plots += (i == 0 ? "" : ", ") + box_of(*arms[i], i, look, blocks);
    tics +=
        (i == 0 ? "" : ", ") + tic_label(arms[i]->arm->name, static_cast<double>(i), kLongestName);
  }
  const std::string unit = analysis.unit.empty() ? "" : " (" + analysis.unit + ")";
  Figure figure{.name = "box-plot" + name_end(analysis, group),
                .caption = box_caption(analysis, group, std::min(spec.top, group.ranking.size())),
                .height = 390 + 2 * static_cast<int>(longest)};
  figure.script =
      figure_start() + blocks +
      "set style fill transparent solid 0.15 border\nset boxwidth 0.55\nunset key\n"
      "set xtics rotate by -25 left offset 0,0\n" +
      // Names hang down to the right: room below, and beside for the last.
      fmt::format("set bmargin {}\nset rmargin {}\n", 2 + 0.16 * static_cast<double>(longest),
                  2 + 0.6 * static_cast<double>(longest)) +
      fmt::format("set xtics ({})\nset xrange [-0.6:{}]\n", tics,
                  static_cast<double>(arms.size()) - 0.4) +
      fmt::format(
          "if (narrow) {{\nset xtics rotate by -90 left offset 0,0\nset bmargin {}\n"
          "set rmargin 2\n}}\n",
          1.5 + 0.47 * static_cast<double>(longest)) +
      fmt::format("set ylabel {}\nset offsets 0,0,graph 0.08,graph 0.08\n",
                  for_gnuplot(analysis.metric_name + unit)) +
      "plot " + plots + "\n";
  return figure;
}

/// Mean and standard deviation over the runs that reached an epoch.
std::vector<std::vector<double>> curve_of(const results::ArmResults& arm,
                                          const std::string& metric) {
  std::size_t epochs = 0;
  for (const results::RunResult& run : arm.runs) epochs = std::max(epochs, run.epochs.size());
  const std::size_t stride = (epochs + kMostEpochs - 1) / kMostEpochs;
  std::vector<std::vector<double>> rows;
  for (std::size_t i = 0; i < epochs; ++i) {
    if (i % stride != 0 && i + 1 != epochs) continue;
    std::vector<double> values;
    for (const results::RunResult& run : arm.runs) {
      if (i >= run.epochs.size()) continue;
      const double value = curve_value(run.epochs[i], metric);
      if (std::isfinite(value)) values.push_back(value);
    }
    if (values.empty()) continue;
    const double mean = statistics::mean_of(values);
    const double spread = values.size() > 1 ? statistics::std_of(values) : 0;
    rows.push_back({static_cast<double>(i + 1), mean, mean - spread, mean + spread});
  }
  return rows;
}

/// Highest epoch, and the range of values over its last third.
struct CurveRange {
  double epochs = 0;
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
};

CurveRange range_of(const std::vector<std::vector<std::vector<double>>>& curves) {
  CurveRange range;
  for (const auto& curve : curves) range.epochs = std::max(range.epochs, curve.back()[0]);
  for (const auto& curve : curves) {
    for (const auto& row : curve) {
      if (row[0] < range.epochs * 2 / 3) continue;
      range.low = std::min(range.low, row[2]);
      range.high = std::max(range.high, row[3]);
    }
  }
  return range;
}

std::optional<Figure> learning_curves(const Analysis& analysis, const GroupAnalysis& group) {
  std::vector<std::vector<std::vector<double>>> curves;
  std::string blocks;
  std::string bands;
  std::string lines;
  std::size_t colour = 0;
  for (const ArmAnalysis* arm : group.leaders(kCurvesShown)) {
    auto curve = curve_of(*arm->arm, analysis.results->metric);
    if (curve.size() < 2) continue;
    const std::string name = fmt::format("curve{}", curves.size());
    const std::string look = colour_of(*arm, colour);
    blocks += data_block(name, curve);
    bands += fmt::format("${} using 1:3:4 with filledcurves fc rgb '{}' notitle, ", name, look);
    lines += fmt::format("{}${} using 1:2 with lines lw 1.8 lc rgb '{}' title {}",
                         curves.empty() ? "" : ", ", name, look,
                         for_gnuplot(arm->arm->name, kLongestName));
    curves.push_back(std::move(curve));
  }
  if (curves.empty()) return std::nullopt;
  const CurveRange range = range_of(curves);
  const double margin = std::max((range.high - range.low) * 0.05, 1e-6);
  const std::size_t rows = curves.size();
  Figure figure{
      .name = "curves" + name_end(analysis, group),
      .caption = fmt::format(
          "{}{} by epoch{}", caption_start(analysis, group), analysis.curve_name,
          mean_over_runs(group).empty() ? "." : ", mean and ± one standard deviation over runs."),
      .height = 350 + 20 * static_cast<int>(rows)};
  const double bottom = (70.0 + 20.0 * static_cast<double>(rows)) / figure.height;
  const std::string plot = "plot " + bands + lines + "\n";
  figure.script =
      figure_start() + blocks + "set style fill transparent solid 0.16 noborder\nset multiplot\n" +
      axis_labels("epoch", analysis.curve_name) +
      fmt::format("set key maxrows {}\nset bmargin at screen {}\n", rows, bottom) +
      "set lmargin at screen (narrow ? 0.17 : 0.1)\n"
      "set rmargin at screen (narrow ? 0.96 : 0.55)\nset label 1 'last third' at screen "
      "0.81,0.97 center\nif (narrow) {unset label 1}\n" +
      plot + "if (!narrow) {\nunset ylabel\nunset key\nset lmargin at screen 0.64\n" +
      "set rmargin at screen 0.98\n" +
      fmt::format("set xrange [{}:{}]\nset yrange [{}:{}]\n",
                  std::max(1.0, std::floor(range.epochs * 2 / 3)), range.epochs, range.low - margin,
                  range.high + margin) +
      plot + "}\nunset multiplot\n";
  return figure;
}

}  // namespace

std::vector<Block> draw_box_plots(const Analysis& analysis, const SectionSpec& spec) {
  std::vector<Block> blocks;
  for (const GroupAnalysis& group : analysis.groups) {
    const bool has_spread = std::any_of(group.arms.begin(), group.arms.end(),
                                        [](const ArmAnalysis& arm) { return arm.metric.n > 1; });
    if (has_spread) blocks.emplace_back(box_plot(analysis, group, spec));
  }
  return blocks;
}

std::vector<Block> draw_learning_curves(const Analysis& analysis, const SectionSpec&) {
  std::vector<Block> blocks;
  for (const GroupAnalysis& group : analysis.groups) {
    if (auto figure = learning_curves(analysis, group)) blocks.emplace_back(std::move(*figure));
  }
  return blocks;
}

}  // namespace impart::report

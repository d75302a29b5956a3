#include "cli/io/plot.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/report/escape.h"
#include "impart/report/gnuplot.h"
#include "impart/report/plot.h"

namespace impart::cli {
namespace {

constexpr std::string_view kAxes =
    "set logscale x 2\nset logscale y 10\nset key outside right center vertical\n"
    "if (narrow) {\nset key bottom center horizontal outside\n}\n";

/// One row per number of nodes, one column per strategy.
std::vector<std::vector<double>> rows_of(const IoCurves& curves) {
  std::vector<std::vector<double>> rows;
  for (std::size_t i = 0; i < curves.nodes.size(); ++i) {
    std::vector<double> row = {static_cast<double>(curves.nodes[i])};
    for (const IoCurve& line : curves.lines) row.push_back(line.seconds[i]);
    rows.push_back(row);
  }
  return rows;
}

report::Figure figure_of(const IoCurves& curves) {
  report::Figure figure{.name = "seconds",
                        .caption = curves.what + " against the number of nodes, by strategy"};
  std::string plots;
  for (std::size_t i = 0; i < curves.lines.size(); ++i) {
    plots += fmt::format(
        "{}$seconds using 1:{} with lines lw 1.8 lc rgb '{}' "
        "title {}",
        i == 0 ? "" : ", ", i + 2, report::series_colour(i),
        report::for_gnuplot(curves.lines[i].name));
  }
  figure.script = report::figure_start() + report::data_block("seconds", rows_of(curves)) +
                  report::axis_labels("nodes", curves.what) + std::string(kAxes) + "plot " + plots +
                  "\n";
  return figure;
}

}  // namespace

void draw_curves(const IoCurves& curves, const std::string& path) {
  report::Figure figure = figure_of(curves);
  std::array<report::Figure*, 1> figures = {&figure};
  const std::string trouble = report::draw_figures(figures);
  if (!trouble.empty()) throw DataError(fmt::format("{}: {}", path, trouble));
  write_file(path, report::standalone_svg(figure.svg));
}

}  // namespace impart::cli

// Draws columns of a CSV file as curves, in the style of reports:
//
//   draw_curves FILE.csv X Y SERIES FILE.svg "x label" "y label"
//
// One line for each value of the column SERIES, in the order of the file; both axes are
// logarithmic.

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/check.h"
#include "impart/core/file.h"
#include "impart/report/escape.h"
#include "impart/report/gnuplot.h"
#include "impart/report/plot.h"

namespace {

using Row = std::vector<std::string>;

Row cells_of(const std::string& line) {
  Row cells;
  std::istringstream text(line);
  for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
  return cells;
}

std::size_t column_of(const Row& header, const std::string& name) {
  const auto found = std::find(header.begin(), header.end(), name);
  impart::bench::require(found != header.end(), "there is no column " + name);
  return static_cast<std::size_t>(found - header.begin());
}

}  // namespace

int main(int argc, char** argv) {
  impart::bench::require(argc == 8, "draw_curves CSV X Y SERIES SVG XLABEL YLABEL");
  const impart::InputFile file(argv[1]);
  std::istringstream lines{std::string(file.text())};
  std::string line;
  std::getline(lines, line);
  const Row header = cells_of(line);
  const std::size_t x = column_of(header, argv[2]), y = column_of(header, argv[3]),
                    series = column_of(header, argv[4]);
  std::vector<std::string> names;
  std::map<std::string, std::vector<std::vector<double>>> points;
  while (std::getline(lines, line)) {
    const Row cells = cells_of(line);
    if (!points.contains(cells[series])) names.push_back(cells[series]);
    points[cells[series]].push_back({std::stod(cells[x]), std::stod(cells[y])});
  }
  impart::report::Figure figure{.name = "curves",
                                .caption = fmt::format("{} against {}", argv[7], argv[6])};
  std::string plots;
  figure.script = impart::report::figure_start();
  for (std::size_t i = 0; i < names.size(); ++i) {
    figure.script += impart::report::data_block(fmt::format("curve{}", i), points[names[i]]);
    plots += fmt::format("{}$curve{} using 1:2 with lines lw 1.8 lc rgb '{}' title {}",
                         i == 0 ? "" : ", ", i, impart::report::series_colour(i),
                         impart::report::for_gnuplot(names[i]));
  }
  figure.script += impart::report::axis_labels(argv[6], argv[7]) +
                   "set logscale xy 10\nset key outside right center vertical\n"
                   "if (narrow) {\nset key bottom center horizontal outside\n}\nplot " +
                   plots + "\n";
  std::array<impart::report::Figure*, 1> figures = {&figure};
  const std::string trouble = impart::report::draw_figures(figures);
  impart::bench::require(trouble.empty(), trouble);
  impart::write_file(argv[5], impart::report::standalone_svg(figure.svg));
}

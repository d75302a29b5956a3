#include "impart/report/plot.h"

#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "impart/report/escape.h"

namespace impart::report {

std::string_view series_colour(std::size_t i) {
  static constexpr std::string_view kColours[] = {
      "#3b7dd8", "#e07b39", "#2a9d78", "#c2527f", "#8a6fd1", "#b3961c", "#3c9fb4",
      "#a5673f", "#d1495b", "#6d8f3c", "#9c6fae", "#7a8288", "#b5bac0"};
  return kColours[i % std::size(kColours)];
}

std::string data_block(std::string_view name, const std::vector<std::vector<double>>& rows) {
  std::string text = fmt::format("${} << EOD\n", name);
  for (const auto& row : rows) {
    for (const double value : row) {
      if (std::isfinite(value)) {
        fmt::format_to(std::back_inserter(text), "{:.6g} ", value);
      } else {
        text += "NaN ";
      }
    }
    text += '\n';
  }
  return text + "EOD\n";
}

std::string figure_start() {
  return "unset multiplot\n"
         "reset\n"
         "set encoding utf8\n"
         "set border 3 lw 0.8\n"
         "set tics nomirror out scale 0.5\n"
         "set xtics offset 0,0.3\n"
         "set xlabel offset 0,0.4\n"
         "set bmargin 5.5\n"
         "set grid ytics lt 1 lc rgb '#9aa0a6' lw 0.4\n"
         "set key at screen 0.53,0.015 bottom center horizontal samplen 1.5 width 1\n";
}

std::string tic_label(std::string_view name, double position, std::size_t most) {
  std::string label;
  for (const char c : for_gnuplot(name, most))
    label += c == '%' ? std::string("%%") : std::string(1, c);
  return fmt::format("{} {}", label, position);
}

std::string axis_labels(std::string_view x, std::string_view y) {
  return fmt::format("set xlabel {}\nset ylabel {}\n", for_gnuplot(x), for_gnuplot(y));
}

}  // namespace impart::report

#include "cli/terminal/line_layout.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "cli/terminal/terminal_text.h"

namespace impart::cli {
namespace {

constexpr std::size_t kShortestBar = 4, kLongestBar = 30;
constexpr std::string_view kGap = "  ";

std::size_t least_columns(const LineField& field) {
  return field.is_bar ? kShortestBar : columns_of(field.text);
}

/// Which fields are shown; `columns` becomes what is left.
std::vector<bool> choose_fields(std::span<const LineField> fields, std::size_t& columns) {
  std::vector<std::size_t> order(fields.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return fields[a].rank < fields[b].rank; });
  std::vector<bool> shown(fields.size(), false);
  bool is_first = true;
  for (const std::size_t i : order) {
    const std::size_t needed = least_columns(fields[i]) + (is_first ? 0 : kGap.size());
    if (needed > columns) continue;
    shown[i] = true;
    columns -= needed;
    is_first = false;
  }
  return shown;
}

}  // namespace

std::string bar_text(double share, std::size_t columns, bool utf8) {
  const double filled = std::clamp(share, 0.0, 1.0) * static_cast<double>(columns);
  const auto whole = static_cast<std::size_t>(filled);
  const bool half = utf8 && filled - std::floor(filled) >= 0.5;
  std::string text;
  for (std::size_t i = 0; i < whole; ++i) text += utf8 ? "━" : "#";
  if (half) text += "╸";
  return text.append(columns - whole - (half ? 1 : 0), ' ');
}

std::string lay_out(std::span<const LineField> fields, std::size_t columns,
                    const Terminal& terminal) {
  if (fields.empty()) return "";
  const LineField& first =
      *std::min_element(fields.begin(), fields.end(),
                        [](const LineField& a, const LineField& b) { return a.rank < b.rank; });
  if (least_columns(first) > columns) return cut(first.text, columns);
  std::size_t left = columns;
  const std::vector<bool> shown = choose_fields(fields, left);
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!shown[i]) continue;
    if (!line.empty()) line += kGap;
    const LineField& field = fields[i];
    const std::size_t bar = std::min(kLongestBar, kShortestBar + left);
    line += coloured(terminal, field.colour,
                     field.is_bar ? bar_text(field.share, bar, terminal.has_utf8) : field.text);
  }
  return line;
}

}  // namespace impart::cli

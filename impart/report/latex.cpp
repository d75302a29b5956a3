#include <fmt/format.h>

#include "impart/report/escape.h"
#include "impart/report/render.h"

namespace impart::report {
namespace {

constexpr std::size_t kPagesFrom = 45;  ///< rows that do not fit a page

std::string body_of(const Table& table, bool is_long) {
  std::string text = "\\toprule\n";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    text += (i == 0 ? "" : " & ") + for_latex(table.columns[i].name);
  }
  text += " \\\\\n\\midrule\n";
  if (is_long) text += "\\endhead\n";
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool strong = row[i].tone == Cell::Tone::kBetter || row[i].tone == Cell::Tone::kWorse;
      const std::string shown = for_latex(row[i].text);
      text += (i == 0 ? "" : " & ") + (strong ? fmt::format("\\textbf{{{}}}", shown) : shown);
    }
    text += " \\\\\n";
  }
  return text + "\\bottomrule\n";
}

std::string render_table(const Table& table) {
  std::string letters;
  for (const Column& column : table.columns) letters += column.numeric ? 'r' : 'l';
  const std::string caption = for_latex(table.caption);
  if (table.rows.size() > kPagesFrom) {
    return fmt::format("\\begin{{longtable}}{{{}}}\n\\caption{{{}}}\\\\\n{}\\end{{longtable}}\n\n",
                       letters, caption, body_of(table, true));
  }
  return fmt::format(
      "\\begin{{table}}\n\\centering\n\\caption{{{}}}\n\\begin{{tabular}}{{{}}}\n{}"
      "\\end{{tabular}}\n\\end{{table}}\n\n",
      caption, letters, body_of(table, false));
}

}  // namespace

std::string render_latex(const Document& document) {
  std::string text = "% \\usepackage{booktabs,longtable,textcomp}\n% \\usepackage[T1]{fontenc}\n\n";
  for (const Section& section : document.sections) {
    for (const Block& block : section.blocks) {
      const auto* table = std::get_if<Table>(&block);
      if (table != nullptr && table->in_latex) text += render_table(*table);
    }
  }
  return text;
}

}  // namespace impart::report

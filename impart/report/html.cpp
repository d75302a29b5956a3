#include <cmath>

#include <fmt/format.h>

#include "impart/report/escape.h"
#include "impart/report/page_style.h"
#include "impart/report/render.h"

namespace impart::report {
namespace {

constexpr std::size_t kLongFrom = 24;  ///< tables of more rows scroll inside the page
constexpr std::size_t kWrapFrom = 60;  ///< cells of so many characters may take several lines

std::string_view class_of(Cell::Tone tone) {
  switch (tone) {
    case Cell::Tone::kBetter:
      return "better";
    case Cell::Tone::kWorse:
      return "worse";
    case Cell::Tone::kMuted:
      return "muted";
    case Cell::Tone::kPlain:
      break;
  }
  return "";
}

std::string attributes_of(const Cell& cell, const Column& column) {
  std::string classes(class_of(cell.tone));
  const auto add = [&](std::string_view name) {
    classes += (classes.empty() ? "" : " ") + std::string(name);
  };
  if (!column.numeric) add("text");
  if (length_of(cell.text) > kWrapFrom) add("wrap");
  const bool shaded = std::abs(cell.shade) > 0.02;
  if (shaded) add(cell.shade > 0 ? "gain" : "loss");
  std::string text = classes.empty() ? "" : fmt::format(" class=\"{}\"", classes);
  if (shaded) text += fmt::format(" style=\"--s:{:.2f}\"", 0.42 * std::abs(cell.shade));
  if (cell.value) {
    text += std::isfinite(*cell.value) ? fmt::format(" data-v=\"{:.9g}\"", *cell.value)
                                       : std::string(" data-v=\"NaN\"");
  }
  return text;
}

std::string table_body(const Table& table) {
  const bool is_long = table.rows.size() > kLongFrom;
  std::string html = fmt::format("<div class=\"scroll{}\"{}><table><thead><tr>",
                                 is_long ? " long" : "", is_long ? " tabindex=\"0\"" : "");
  for (const Column& column : table.columns) {
    html += fmt::format(
        "<th scope=\"col\"{}{}>{}</th>", column.numeric ? "" : " class=\"text\"",
        column.meaning.empty() ? "" : fmt::format(" title=\"{}\"", for_html(column.meaning)),
        for_html(column.name));
  }
  html += "</tr></thead><tbody>\n";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      html += fmt::format("<td{}>{}</td>", attributes_of(row[i], table.columns[i]),
                          for_html(row[i].text));
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>";
}

struct BlockRenderer {
  std::string operator()(const Paragraph& paragraph) const {
    return fmt::format("<p{}>{}</p>\n", paragraph.small ? " class=\"small\"" : "",
                       for_html(paragraph.text));
  }

  std::string operator()(const Table& table) const {
    std::string notes;
    for (const std::string& note : table.notes) {
      notes += fmt::format("<p class=\"small\">{}</p>\n", for_html(note));
    }
    if (table.collapsed) {
      return fmt::format("<details><summary>{} ({} rows)</summary>{}{}</details>\n",
                         for_html(table.caption), table.rows.size(), table_body(table), notes);
    }
    return fmt::format("<div class=\"table\"><p class=\"label\">{}</p>{}{}</div>\n",
                       for_html(table.caption), table_body(table), notes);
  }

  std::string operator()(const Figure& figure) const {
    if (figure.svg.empty()) return "";
    return fmt::format(
        "<figure id=\"figure-{}\"><div "
        "class=\"plot\">{}</div><figcaption>{}</figcaption></figure>\n",
        figure.name, figure.svg, for_html(figure.caption));
  }

  std::string operator()(const Verbatim& verbatim) const {
    return fmt::format("<details><summary>{}</summary><pre>{}</pre></details>\n",
                       for_html(verbatim.title), for_html(verbatim.text));
  }
};

std::string verdict_card(const Document& document) {
  std::string html = fmt::format("<div class=\"verdict\"><p class=\"headline\">{}</p>",
                                 for_html(document.headline));
  for (const GroupVerdict& verdict : document.verdicts) {
    if (verdict.sentences.empty()) continue;
    if (document.verdicts.size() > 1) html += fmt::format("<h3>{}</h3>", for_html(verdict.group));
    html += "<ul>";
    for (const std::string& sentence : verdict.sentences) {
      html += fmt::format("<li>{}</li>", for_html(sentence));
    }
    html += "</ul>";
  }
  return html + "</div>\n";
}

}  // namespace

std::string render_html(const Document& document) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action "
      "'none'\">\n<link rel=\"icon\" "
      "href=\"data:,\">\n<title>{}</title>\n<style>{}</style></head>\n"
      "<body><header><h1>{}</h1><p class=\"sub\">{}</p>\n{}<nav>",
      kSortScriptHash, for_html(document.title), kPageStyle, for_html(document.title),
      for_html(document.subtitle), verdict_card(document));
  for (const Section& section : document.sections) {
    html += fmt::format("<a href=\"#{}\">{}</a>", section.id, for_html(section.title));
  }
  html += "</nav></header>\n<main>\n";
  for (const Section& section : document.sections) {
    html += fmt::format("<section id=\"{}\"><h2>{}</h2>\n", section.id, for_html(section.title));
    for (const Block& block : section.blocks) html += std::visit(BlockRenderer{}, block);
    html += "</section>\n";
  }
  html += fmt::format(
      "</main>\n<footer>Made by impart report.</footer>\n<script>{}</script>"
      "</body></html>\n",
      kSortScript);
  return html;
}

}  // namespace impart::report

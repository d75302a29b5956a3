#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "impart/core/base64.h"
#include "impart/report/escape.h"
#include "impart/report/page_script.h"
#include "impart/report/page_style.h"
#include "impart/report/render.h"

namespace impart::report {
namespace {

constexpr std::size_t kScrollsFrom = 24;  ///< tables of more rows scroll inside the page
constexpr std::size_t kWrapFrom = 60;     ///< cells of so many characters may take several lines
constexpr std::size_t kWidthStep = 6, kWidestTable = 96;  ///< rem

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
    if (!classes.empty()) classes += ' ';
    classes += name;
  };
  if (!column.numeric) add("text");
  if (length_of(cell.text) > kWrapFrom) add("wrap");
  const bool shaded = std::abs(cell.shade) > 0.02;
  if (shaded) add(cell.shade > 0 ? "gain" : "loss");
  std::string text = fmt::format(" data-h=\"{}\"", for_html(column.name));
  if (!classes.empty()) text += fmt::format(" class=\"{}\"", classes);
  if (shaded) text += fmt::format(" style=\"--s:{:.2f}\"", 0.3 * std::abs(cell.shade));
  if (cell.value) {
    text += std::isfinite(*cell.value) ? fmt::format(" data-v=\"{:.9g}\"", *cell.value)
                                       : std::string(" data-v=\"NaN\"");
  }
  return text;
}

std::size_t longest_word(std::string_view text) {
  std::size_t longest = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    longest = std::max(longest, length_of(word));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return longest;
}

/// The rem that a table needs to show all of its columns, in steps. Names may break, and long
/// texts.
std::size_t width_of(const Table& table) {
  double rem = 0;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    std::size_t letters = longest_word(table.columns[i].name);
    for (const auto& row : table.rows) {
      letters = std::max(letters, std::min(length_of(row[i].text), i == 0 ? 20 : kWrapFrom));
    }
    rem += 1 + 0.46 * static_cast<double>(letters);
  }
  const auto steps = static_cast<std::size_t>(rem / kWidthStep) + 1;
  return std::min(steps * kWidthStep, kWidestTable);
}

std::string card_styles() {
  std::string css;
  for (std::size_t rem = kWidthStep; rem <= kWidestTable; rem += kWidthStep) {
    css += fmt::format(fmt::runtime(kCardStyle), rem);
  }
  return css;
}

std::string html_rows(const Table& table) {
  const bool is_long = table.rows.size() > kScrollsFrom;
  std::string html =
      fmt::format("<div class=\"scroll{}\"{}><table class=\"fit-{}\"><thead><tr>",
                  is_long ? " long" : "", is_long ? " tabindex=\"0\"" : "", width_of(table));
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

/// For the script: ids and labels of the dots, in their order.
std::string notes_of(const HoverNotes& hover) {
  if (hover.dots.empty()) return "";
  std::vector<std::uint64_t> ids, labels;
  for (const DotNote& dot : hover.dots) {
    ids.push_back(dot.id);
    labels.push_back(dot.label);
  }
  const nlohmann::json notes = {
      {"pictures", hover.pictures}, {"labels", hover.labels}, {"ids", ids}, {"of", labels}};
  const auto replace = nlohmann::json::error_handler_t::replace;
  return fmt::format(" data-notes=\"{}\"", for_html(notes.dump(-1, ' ', true, replace)));
}

/// What the picture of a tile shows, for those who cannot see it.
std::string description_of(const Thumbnail& tile) {
  std::string text = fmt::format("example {}: {}", tile.id, tile.label);
  if (is_mistaken(tile)) text += ", taken for " + tile.prediction;
  return text;
}

std::string tile_item(const Thumbnail& tile, const std::string& pictures) {
  std::string html = fmt::format(
      "<li><img src=\"data:image/png;base64,{}\" alt=\"{}\" data-picture=\"{}-{}\"><b>{}</b>",
      to_base64(tile.png), for_html(description_of(tile)), pictures, tile.id, for_html(tile.label));
  if (is_mistaken(tile)) {
    html += fmt::format("<span class=\"worse\">→ {}</span>", for_html(tile.prediction));
  }
  html += fmt::format("<span>{}</span>", tile.id);
  if (!tile.place.empty()) html += fmt::format("<span>{}</span>", for_html(tile.place));
  return html + "</li>";
}

std::string tile_rows(const Gallery& gallery) {
  std::string html;
  for (const ThumbnailRow& row : gallery.rows) {
    if (!row.title.empty()) html += fmt::format("<h3>{}</h3>", for_html(row.title));
    html += "<ul class=\"tiles\">";
    for (const Thumbnail& tile : row.tiles) html += tile_item(tile, gallery.pictures);
    html += "</ul>\n";
  }
  return html;
}

struct HtmlBlocks {
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
      return fmt::format(
          "<details><summary>{} ({} {})</summary><div class=\"box\">{}</div>{}</details>\n",
          for_html(table.caption), table.rows.size(), table.rows.size() == 1 ? "row" : "rows",
          html_rows(table), notes);
    }
    return fmt::format("<div class=\"table\"><p class=\"label\">{}</p>{}{}</div>\n",
                       for_html(table.caption), html_rows(table), notes);
  }

  std::string operator()(const Figure& figure) const {
    if (figure.svg.empty()) return "";
    return fmt::format(
        "<figure><div class=\"plot\"{}><div class=\"wide\">{}</div><div class=\"narrow\">{}</div>"
        "</div><figcaption>{}</figcaption></figure>\n",
        notes_of(figure.hover), figure.svg, figure.narrow.empty() ? figure.svg : figure.narrow,
        for_html(figure.caption));
  }

  std::string operator()(const Gallery& gallery) const {
    const char* start = gallery.collapsed ? "<details><summary>" : "<p class=\"label\">";
    const char* middle = gallery.collapsed ? "</summary>" : "</p>";
    return fmt::format("<div class=\"gallery\">{}{}{}{}{}</div>\n", start,
                       for_html(gallery.caption), middle, tile_rows(gallery),
                       gallery.collapsed ? "</details>" : "");
  }

  std::string operator()(const Verbatim& verbatim) const {
    return fmt::format("<details><summary>{}</summary><pre>{}</pre></details>\n",
                       for_html(verbatim.title), for_html(verbatim.text));
  }
};

std::string sentence_list(std::span<const std::string> sentences) {
  if (sentences.empty()) return "";
  std::string html = "<ul>";
  for (const std::string& sentence : sentences) {
    html += fmt::format("<li>{}</li>", for_html(sentence));
  }
  return html + "</ul>";
}

/// Of several groups the first sentence shows, and the others when it is opened.
std::string group_verdict(const GroupVerdict& verdict) {
  if (verdict.sentences.empty()) return "";
  return fmt::format("<details><summary><b>{}</b>: {}</summary>{}</details>",
                     for_html(verdict.group), for_html(verdict.sentences.front()),
                     sentence_list(std::span(verdict.sentences).subspan(1)));
}

std::string key_figures(const Document& document) {
  if (document.key_figures.empty()) return "";
  std::string html = "<div class=\"keys\">";
  for (const KeyFigure& key : document.key_figures) {
    html += fmt::format("<div><b class=\"{}\">{}</b><span>{}</span></div>", class_of(key.tone),
                        for_html(key.value), for_html(key.meaning));
  }
  return html + "</div>";
}

std::string verdict_card(const Document& document) {
  std::string html = fmt::format("<div class=\"verdict\"><p class=\"headline\">{}</p>{}",
                                 for_html(document.headline), key_figures(document));
  const bool one_group = document.verdicts.size() == 1;
  for (const GroupVerdict& verdict : document.verdicts) {
    html += one_group ? sentence_list(verdict.sentences) : group_verdict(verdict);
  }
  return html + "</div>\n";
}

/// The first screen: what was found, in a sentence, a number and a picture.
std::string first_screen(const Document& document) {
  return fmt::format(
      "<header><h1>{}</h1><p class=\"sub\">{}</p>\n<div class=\"lead{}\">{}{}</div>"
      "</header>\n",
      for_html(document.title), for_html(document.subtitle), document.lead ? "" : " alone",
      verdict_card(document), document.lead ? std::visit(HtmlBlocks{}, *document.lead) : "");
}

std::string navigation(const Document& document) {
  std::string html = fmt::format(
      "<nav aria-label=\"Contents\"><span class=\"name\">{}</span><input type=\"checkbox\" "
      "id=\"menu\"><label for=\"menu\">Contents</label><div class=\"links\">",
      for_html(shortened(document.title, 40)));
  for (const Section& section : document.sections) {
    html += fmt::format("<a href=\"#{}\">{}</a>", section.id, for_html(section.title));
  }
  return html + "</div></nav>\n";
}

std::string section_body(const Section& section) {
  std::string html =
      fmt::format("<section id=\"{}\"><details{}><summary><h2>{}</h2></summary>\n", section.id,
                  section.folded ? "" : " open", for_html(section.title));
  for (const Block& block : section.blocks) html += std::visit(HtmlBlocks{}, block);
  return html + "</details></section>\n";
}

}  // namespace

std::string render_html(const Document& document) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action "
      "'none'\">\n<link rel=\"icon\" "
      "href=\"data:,\">\n<title>{}</title>\n<style>{}{}</style></head>\n<body>",
      kPageScriptHash, for_html(document.title), kPageStyle, card_styles());
  html += navigation(document);
  html += fmt::format("<div class=\"page\">{}<main>\n", first_screen(document));
  for (const Section& section : document.sections) html += section_body(section);
  html += fmt::format(
      "</main>\n<footer>Made by impart report.</footer></div>\n<script>{}</script>"
      "</body></html>\n",
      kPageScript);
  return html;
}

}  // namespace impart::report

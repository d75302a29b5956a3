#include <fmt/format.h>

#include "impart/report/escape.h"
#include "impart/report/render.h"

namespace impart::report {
namespace {

std::string markdown_rows(const Table& table) {
  std::string text = "|";
  std::string rule = "|";
  for (const Column& column : table.columns) {
    text += fmt::format(" {} |", for_markdown(column.name));
    rule += column.numeric ? "---:|" : "---|";
  }
  text += "\n" + rule + "\n";
  for (const auto& row : table.rows) {
    text += "|";
    for (const Cell& cell : row) {
      const bool strong = cell.tone == Cell::Tone::kBetter || cell.tone == Cell::Tone::kWorse;
      const std::string shown = for_markdown(cell.text);
      text += strong ? fmt::format(" **{}** |", shown) : fmt::format(" {} |", shown);
    }
    text += "\n";
  }
  return text + "\n";
}

/// Text inside a fence that no line of it can close.
std::string fenced(const std::string& text) {
  std::string fence = "```";
  while (text.find(fence) != std::string::npos) fence += '`';
  return fmt::format("{}\n{}\n{}\n", fence, text, fence);
}

/// " 17 (circle → star)"
std::string tile_words(const Thumbnail& tile) {
  const std::string said = is_mistaken(tile) ? " → " + for_markdown(tile.prediction) : "";
  return fmt::format(" {} ({}{})", tile.id, for_markdown(tile.label), said);
}

struct MarkdownBlocks {
  std::string operator()(const Paragraph& paragraph) const {
    return for_markdown(paragraph.text) + "\n\n";
  }

  std::string operator()(const Table& table) const {
    std::string notes;
    for (const std::string& note : table.notes) notes += for_markdown(note) + "\n\n";
    if (!table.collapsed) {
      return fmt::format("*{}*\n\n{}{}", for_markdown(table.caption), markdown_rows(table), notes);
    }
    return fmt::format("<details><summary>{}</summary>\n\n{}{}</details>\n\n",
                       for_html(table.caption), markdown_rows(table), notes);
  }

  std::string operator()(const Figure& figure) const {
    if (figure.svg.empty()) return "";
    return fmt::format("![{0}](figures/{1}.svg)\n\n*{0}*\n\n", for_markdown(figure.caption),
                       figure.name);
  }

  /// Pictures cannot stand in a line of Markdown; what they show can.
  std::string operator()(const Gallery& gallery) const {
    std::string text = fmt::format("*{}*\n\n", for_markdown(gallery.caption));
    for (const ThumbnailRow& row : gallery.rows) {
      text += fmt::format("- {}:", for_markdown(row.title));
      for (const Thumbnail& tile : row.tiles) text += tile_words(tile);
      text += "\n";
    }
    return text + "\n";
  }

  std::string operator()(const Verbatim& verbatim) const {
    return fmt::format("<details><summary>{}</summary>\n\n{}\n</details>\n\n",
                       for_html(verbatim.title), fenced(verbatim.text));
  }
};

}  // namespace

std::string render_markdown(const Document& document) {
  std::string text = fmt::format("# {}\n\n{}\n\n**{}**\n\n", for_markdown(document.title),
                                 for_markdown(document.subtitle), for_markdown(document.headline));
  for (const GroupVerdict& verdict : document.verdicts) {
    if (verdict.sentences.empty()) continue;
    if (document.verdicts.size() > 1) text += fmt::format("{}\n\n", for_markdown(verdict.group));
    for (const std::string& sentence : verdict.sentences) {
      text += fmt::format("- {}\n", for_markdown(sentence));
    }
    text += "\n";
  }
  for (const Section& section : document.sections) {
    text += fmt::format("## {}\n\n", for_markdown(section.title));
    for (const Block& block : section.blocks) text += std::visit(MarkdownBlocks{}, block);
  }
  return text;
}

}  // namespace impart::report

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "impart/report/example_runs.h"
#include "impart/report/numbers.h"
#include "impart/report/sections.h"
#include "impart/run/text_file.h"

namespace impart::report {
namespace {

constexpr std::size_t kMostRows = 10;      ///< of each end
constexpr std::size_t kMostLetters = 300;  ///< of a text, in bytes
constexpr std::size_t kMostTokens = 5;     ///< the hardest ones, where their losses are known

/// The beginning of a text on one line; cut between characters.
std::string excerpt(const std::string& text) {
  std::string line;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (line.size() >= kMostLetters && (byte & 0xC0) != 0x80) return line + "…";
    if (letter == '\n') {
      line += " ⏎ ";
    } else {
      line += byte < 0x20 ? ' ' : letter;
    }
  }
  return line;
}

std::string place_of(const run::TextRecord& text) {
  if (text.file.empty()) return "made";
  return fmt::format("{}:{}", std::filesystem::path(text.file).filename().string(), text.offset);
}

std::string hardest_tokens(const run::TextRecord& text) {
  auto tokens = text.tokens;
  const std::size_t count = std::min(kMostTokens, tokens.size());
  std::partial_sort(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count),
                    tokens.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string list;
  for (std::size_t i = 0; i < count; ++i) {
    list += fmt::format("{}‘{}’ {:.1f}", i == 0 ? "" : ", ", excerpt(tokens[i].first),
                        tokens[i].second);
  }
  return list;
}

Cell whole_cell(std::uint64_t number) {
  return {.text = fmt::to_string(number), .value = static_cast<double>(number)};
}

Table text_table(const std::vector<run::TextRecord>& texts, const std::string& notion, bool hardest,
                 const std::string& caption) {
  Table table{.caption = caption, .in_latex = false};
  table.columns = {{"rank"}, {"id"}, {notion}, {"where", false}};
  const auto any = [&](auto has) { return std::any_of(texts.begin(), texts.end(), has); };
  const bool labels = any([](const run::TextRecord& text) { return !text.label.empty(); });
  const bool tokens = any([](const run::TextRecord& text) { return !text.tokens.empty(); });
  if (labels) table.columns.push_back({"label", false});
  table.columns.push_back({"text", false});
  if (tokens) table.columns.push_back({"hardest tokens", false, "with their losses in nats"});
  for (const run::TextRecord& text : texts) {
    if (text.notion != notion || text.hardest != hardest) continue;
    if (table.rows.size() == kMostRows) break;
    table.rows.push_back({whole_cell(text.rank), whole_cell(text.id), number_cell(text.importance),
                          text_cell(place_of(text))});
    if (labels) table.rows.back().push_back(text_cell(text.label));
    table.rows.back().push_back(text_cell(excerpt(text.text)));
    if (tokens) table.rows.back().push_back(text_cell(hardest_tokens(text)));
  }
  return table;
}

std::vector<std::string> notions_in(const std::vector<run::TextRecord>& texts) {
  std::vector<std::string> notions;
  for (const run::TextRecord& text : texts) {
    if (std::find(notions.begin(), notions.end(), text.notion) == notions.end()) {
      notions.push_back(text.notion);
    }
  }
  return notions;
}

}  // namespace

std::vector<Block> show_texts(const Analysis& analysis, const SectionSpec&) {
  std::vector<Block> blocks;
  const GroupAnalysis* done = nullptr;
  for_example_runs(analysis, blocks, [&](const Example& example) {
    const std::string path = example.run->folder + "/texts.jsonl";
    if (done == example.group || !std::filesystem::exists(path)) return false;
    done = example.group;  // one run per group
    const auto texts = run::read_texts(path);
    for (const std::string& notion : notions_in(texts)) {
      for (const bool hardest : {true, false}) {
        Table table = text_table(
            texts, notion, hardest,
            fmt::format("{}{}: the {} texts by {}", caption_start(analysis, *example.group),
                        example.name(), hardest ? "hardest" : "easiest", notion));
        table.collapsed = notion != texts.front().notion;
        if (!table.rows.empty()) blocks.emplace_back(std::move(table));
      }
    }
    return true;
  });
  return blocks;
}

}  // namespace impart::report

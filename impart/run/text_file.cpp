#include "impart/run/text_file.h"

#include <nlohmann/json.hpp>

#include "impart/core/file.h"
#include "impart/core/json.h"
#include "impart/run/json_lines.h"

namespace impart::run {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const TextRecord& text) {
  Json json = {{"notion", text.notion},
               {"end", text.hardest ? "hardest" : "easiest"},
               {"rank", text.rank},
               {"id", text.id},
               {"importance", text.importance},
               {"file", text.file},
               {"offset", text.offset},
               {"label", text.label},
               {"text", text.text}};
  if (!text.tokens.empty()) json["tokens"] = text.tokens;
  return json;
}

TextRecord from_json(const Json& json) {
  TextRecord text{.notion = json.at("notion"),
                  .hardest = json.at("end") == "hardest",
                  .rank = whole_number<std::uint32_t>(json.at("rank")),
                  .id = whole_number(json.at("id")),
                  .file = json.at("file"),
                  .offset = whole_number(json.at("offset")),
                  .label = json.at("label"),
                  .text = json.at("text")};
  if (json.at("importance").is_number()) text.importance = json.at("importance");
  if (json.contains("tokens")) json.at("tokens").get_to(text.tokens);
  return text;
}

}  // namespace

void write_texts(const std::string& path, const std::vector<TextRecord>& texts) {
  OutputFile file(path);
  for (const TextRecord& text : texts) file.write(json_line(to_json(text)));
  file.commit();
}

std::vector<TextRecord> read_texts(const std::string& path) {
  const InputFile file(path);
  std::vector<TextRecord> texts;
  for_each_json_line(file.text(), path, "text of a run",
                     [&](const Json& json) { texts.push_back(from_json(json)); });
  return texts;
}

}  // namespace impart::run

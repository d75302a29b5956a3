#include "impart/run/text_file.h"

#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "impart/core/error.h"
#include "impart/core/file.h"

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
                  .rank = json.at("rank"),
                  .id = json.at("id"),
                  .file = json.at("file"),
                  .offset = json.at("offset"),
                  .label = json.at("label"),
                  .text = json.at("text")};
  if (json.at("importance").is_number()) text.importance = json.at("importance");
  if (json.contains("tokens")) json.at("tokens").get_to(text.tokens);
  return text;
}

}  // namespace

void write_texts(const std::string& path, const std::vector<TextRecord>& texts) {
  OutputFile file(path);
  for (const TextRecord& text : texts) {
    file.write(to_json(text).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  }
  file.commit();
}

std::vector<TextRecord> read_texts(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw DataError(fmt::format("{}: cannot be read", path));
  std::vector<TextRecord> texts;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    try {
      texts.push_back(from_json(Json::parse(line)));
    } catch (const Json::exception& error) {
      throw DataError(fmt::format("{}:{}: is no text of a run: {}", path, number, error.what()));
    }
  }
  return texts;
}

}  // namespace impart::run

#include "impart/run/text_file.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/core/json.h"

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
  for (const TextRecord& text : texts) {
    file.write(to_json(text).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  }
  file.commit();
}

std::vector<TextRecord> read_texts(const std::string& path) {
  const InputFile file(path);
  std::vector<TextRecord> texts;
  std::string_view rest = file.text();
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const std::string where = fmt::format("{}:{}", path, number);
    const auto refusal = [&](const std::exception& error) {
      return DataError(fmt::format("{}: is no text of a run: {}", where, error.what()));
    };
    const Json json = parse_json<Json>(line, where);
    try {
      texts.push_back(from_json(json));
    } catch (const Json::exception& error) {
      throw refusal(error);
    } catch (const DataError& error) {
      throw refusal(error);
    }
  }
  return texts;
}

}  // namespace impart::run

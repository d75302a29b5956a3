#include "impart/run/json_lines.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "impart/core/error.h"
#include "impart/core/json.h"

namespace impart::run {

std::string json_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void for_each_json_line(std::string_view text, std::string_view where, std::string_view thing,
                        const std::function<void(const nlohmann::ordered_json&)>& take) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::string place = fmt::format("{}:{}", where, number);
    const auto refusal = [&](const std::exception& error) {
      return DataError(fmt::format("{}: is no {}: {}", place, thing, error.what()));
    };
    const auto json = parse_json<nlohmann::ordered_json>(line, place);
    try {
      take(json);
    } catch (const nlohmann::ordered_json::exception& error) {
      throw refusal(error);
    } catch (const DataError& error) {
      throw refusal(error);
    }
  }
}

}  // namespace impart::run

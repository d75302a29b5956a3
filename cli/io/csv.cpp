#include "cli/io/csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/output.h"

namespace impart::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string csv_field(const Json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return value.dump();
  const auto text = value.get<std::string>();
  if (text.find_first_of(",\"\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char letter : text)
    quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return quoted + '"';
}

}  // namespace

void print_csv(const Json& rows, const std::vector<std::string>& columns) {
  answer("{}\n", fmt::join(columns, ","));
  for (const Json& row : rows) {
    std::vector<std::string> fields;
    for (const std::string& column : columns) fields.push_back(csv_field(row.at(column)));
    answer("{}\n", fmt::join(fields, ","));
  }
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

}  // namespace impart::cli

#include "impart/config/yaml_file.h"

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/file.h"

namespace impart::config {

void fail_at(const std::string& path, const YAML::Mark& mark, const std::string& what) {
  if (mark.is_null()) throw ConfigError(fmt::format("{}: {}", path, what));
  throw ConfigError(fmt::format("{}:{}:{}: {}", path, mark.line + 1, mark.column + 1, what));
}

YAML::Node parse_yaml(const std::string& path) {
  try {
    const InputFile file(path);
    const auto documents = YAML::LoadAll(std::string(file.text()));
    if (documents.size() > 1) {
      fail_at(path, documents[1].Mark(), "a second document; expected only one");
    }
    return documents.empty() ? YAML::Node() : documents[0];
  } catch (const YAML::Exception& error) {
    fail_at(path, error.mark, fmt::format("not valid YAML: {}", error.msg));
  } catch (const DataError& error) {
    throw ConfigError(error.what());
  }
}

WrittenValue written_value(const std::string& path, const YAML::Node& node, const ConfigKey& key) {
  if (node.IsScalar()) return {node.Scalar()};
  if (!key.is_list || !node.IsSequence()) {
    const char* found = node.IsMap() ? "a section" : node.IsNull() ? "no value" : "a list";
    fail_at(path, node.Mark(),
            fmt::format("{}: found {}; allowed: {}", key.path(), found, key.allowed));
  }
  WrittenValue value;
  for (const auto& item : node) {
    if (!item.IsScalar()) {
      fail_at(path, item.Mark(), fmt::format("{}: expected a name", key.path()));
    }
    value.push_back(item.Scalar());
  }
  return value;
}

void set_key(const std::string& path, const YAML::Node& node, const ConfigKey& key,
             RunConfig& config) {
  const WrittenValue value = written_value(path, node, key);
  try {
    key.set(config, value);
  } catch (const ConfigError& error) {
    fail_at(path, node.Mark(), fmt::format("{}: {}", key.path(), error.what()));
  }
}

}  // namespace impart::config

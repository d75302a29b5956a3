#include "impart/config/config_file.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "impart/config/config_keys.h"
#include "impart/config/yaml_file.h"
#include "impart/core/error.h"

namespace impart::config {
namespace {

namespace fs = std::filesystem;

/// Reads files into a config, one on top of the other.
class FileReader {
 public:
  explicit FileReader(const Schema& schema) : schema_(schema) {}

  void read(const std::string& path, RunConfig& config);

 private:
  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& what) const;
  void check_keys(const YAML::Node& map, std::string_view section) const;
  void read_base(const YAML::Node& base, RunConfig& config);
  void read_section(const YAML::Node& map, std::string_view section, RunConfig& config);

  const Schema& schema_;
  /// Files that are being read: each is the base of the one before it.
  std::vector<std::string> open_ = {};
};

void FileReader::fail(const YAML::Mark& mark, const std::string& what) const {
  fail_at(open_.back(), mark, what);
}

void FileReader::read(const std::string& path, RunConfig& config) {
  open_.push_back(path);
  const YAML::Node root = parse_yaml(path);
  if (root.IsMap()) {
    check_keys(root, "");
    if (const YAML::Node base = root[std::string(kBaseKey)]) read_base(base, config);
    read_section(root, "", config);
  } else if (!root.IsNull()) {
    fail(root.Mark(), "expected keys and values, as in 'epochs: 10'");
  }
  open_.pop_back();
}

void FileReader::check_keys(const YAML::Node& map, std::string_view section) const {
  std::vector<std::string> seen;
  for (const auto& entry : map) {
    if (!entry.first.IsScalar()) fail(entry.first.Mark(), "a key must be a word");
    const std::string name = entry.first.Scalar();
    const auto allowed = keys_in(schema_, section);
    if (std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
      fail(entry.first.Mark(), describe_unknown_key(schema_, section, name));
    }
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      fail(entry.first.Mark(), fmt::format("key '{}' is there twice", name));
    }
    seen.push_back(name);
  }
}

void FileReader::read_base(const YAML::Node& base, RunConfig& config) {
  if (!base.IsScalar()) fail(base.Mark(), "base: expected the path of a file");
  const fs::path path = fs::path(open_.back()).parent_path() / base.Scalar();
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    fail(base.Mark(), fmt::format("base: there is no file {}", path.string()));
  }
  const auto is_same = [&](const std::string& other) {
    return fs::equivalent(other, path, ignored);
  };
  if (std::any_of(open_.begin(), open_.end(), is_same)) {
    fail(base.Mark(), fmt::format("base: {} builds on itself", path.string()));
  }
  read(path.string(), config);
}

void FileReader::read_section(const YAML::Node& map, std::string_view section, RunConfig& config) {
  for (const auto& entry : map) {
    const std::string name = entry.first.Scalar();
    const YAML::Node& value = entry.second;
    const ConfigKey* key = find_key(schema_, section, name);
    if (key != nullptr && value.IsNull()) fail(entry.first.Mark(), name + " has no value");
    if (key != nullptr) {
      set_key(open_.back(), value, *key, config);
    } else if (value.IsMap()) {
      check_keys(value, name);
      read_section(value, name, config);
    } else if (name != kBaseKey && !value.IsNull()) {
      fail(value.Mark(), describe_section(schema_, name));
    }
  }
}

}  // namespace

void read_config_file(const std::string& path, const Schema& schema, RunConfig& config) {
  FileReader(schema).read(path, config);
}

RunConfig load_config(const std::optional<std::string>& path,
                      std::span<const std::string> overrides, const OwnParts& own) {
  const Schema schema = make_schema(own);
  RunConfig config;
  if (path) read_config_file(*path, schema, config);
  for (const std::string& text : overrides) {
    try {
      apply_override(schema, text, config);
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("override '{}': {}", text, error.what()));
    }
  }
  validate(config, own);
  config.output = expand_output(config);
  config.store.path = expand_store_path(config);
  return config;
}

}  // namespace impart::config

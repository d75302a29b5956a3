#include "impart/study/config_file.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/core/named_table.h"

namespace impart {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBase = "base";

const ConfigKey* find_key(const Schema& schema, std::string_view section, std::string_view name) {
  const auto found = std::find_if(schema.begin(), schema.end(), [&](const ConfigKey& key) {
    return key.section == section && key.name == name;
  });
  return found == schema.end() ? nullptr : &*found;
}

bool is_section(const Schema& schema, std::string_view name) {
  return !name.empty() && std::any_of(schema.begin(), schema.end(),
                                      [&](const ConfigKey& key) { return key.section == name; });
}

/// What may stand in a section ("": at the top level), each once.
std::vector<std::string_view> names_in(const Schema& schema, std::string_view section) {
  std::vector<std::string_view> names;
  if (section.empty()) names.push_back(kBase);
  for (const ConfigKey& key : schema) {
    if (key.section == section) names.push_back(key.name);
    const bool new_section = section.empty() && !key.section.empty() && names.back() != key.section;
    if (new_section) names.push_back(key.section);
  }
  return names;
}

/// The path of the only key of that name or path, "" if there is none or more than one.
std::string find_elsewhere(const Schema& schema, std::string_view name) {
  std::vector<std::string> found;
  for (const ConfigKey& key : schema) {
    if (key.name == name || key.path() == name) found.push_back(key.path());
  }
  return found.size() == 1 ? found[0] : "";
}

/// "unknown key 'heuristik' in partition, did you mean 'heuristic'?"
std::string describe_unknown_key(const Schema& schema, std::string_view section,
                                 std::string_view name) {
  const std::string where = section.empty() ? "" : fmt::format(" in {}", section);
  const auto allowed = names_in(schema, section);
  std::string meant = find_elsewhere(schema, name);
  if (meant.empty()) meant = nearest_name(name, allowed);
  if (!meant.empty()) {
    return fmt::format("unknown key '{}'{}, did you mean '{}'?", name, where, meant);
  }
  return fmt::format("unknown key '{}'{}; there are: {}", name, where, fmt::join(allowed, ", "));
}

std::string describe_section(const Schema& schema, std::string_view section) {
  return fmt::format("{} is a section with the keys {}", section,
                     fmt::join(names_in(schema, section), ", "));
}

/// Reads files into a config, one on top of the other.
class FileReader {
 public:
  explicit FileReader(const Schema& schema) : schema_(schema) {}

  void read(const std::string& path, RunConfig& config);

 private:
  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& what) const;
  YAML::Node parse(const std::string& path) const;
  void check_keys(const YAML::Node& map, std::string_view section) const;
  void read_base(const YAML::Node& base, RunConfig& config);
  void read_section(const YAML::Node& map, std::string_view section, RunConfig& config);
  void read_value(const YAML::Node& node, const ConfigKey& key, RunConfig& config) const;

  const Schema& schema_;
  /// Files that are being read: each is the base of the one before it.
  std::vector<std::string> open_ = {};
};

void FileReader::fail(const YAML::Mark& mark, const std::string& what) const {
  if (mark.is_null()) throw ConfigError(fmt::format("{}: {}", open_.back(), what));
  throw ConfigError(
      fmt::format("{}:{}:{}: {}", open_.back(), mark.line + 1, mark.column + 1, what));
}

void FileReader::read(const std::string& path, RunConfig& config) {
  open_.push_back(path);
  const YAML::Node root = parse(path);
  if (root.IsMap()) {
    check_keys(root, "");
    if (const YAML::Node base = root[std::string(kBase)]) read_base(base, config);
    read_section(root, "", config);
  } else if (!root.IsNull()) {
    fail(root.Mark(), "expected keys and values, as in 'epochs: 10'");
  }
  open_.pop_back();
}

YAML::Node FileReader::parse(const std::string& path) const {
  try {
    const InputFile file(path);
    const auto documents = YAML::LoadAll(std::string(file.text()));
    if (documents.size() > 1) fail(documents[1].Mark(), "a second document; expected only one");
    return documents.empty() ? YAML::Node() : documents[0];
  } catch (const YAML::Exception& error) {
    fail(error.mark, fmt::format("not valid YAML: {}", error.msg));
  } catch (const DataError& error) {
    throw ConfigError(error.what());
  }
}

void FileReader::check_keys(const YAML::Node& map, std::string_view section) const {
  std::vector<std::string> seen;
  for (const auto& entry : map) {
    if (!entry.first.IsScalar()) fail(entry.first.Mark(), "a key must be a word");
    const std::string name = entry.first.Scalar();
    const auto allowed = names_in(schema_, section);
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
      read_value(value, *key, config);
    } else if (value.IsMap()) {
      check_keys(value, name);
      read_section(value, name, config);
    } else if (name != kBase && !value.IsNull()) {
      fail(value.Mark(), describe_section(schema_, name));
    }
  }
}

void FileReader::read_value(const YAML::Node& node, const ConfigKey& key, RunConfig& config) const {
  WrittenValue value;
  if (key.is_list && node.IsSequence()) {
    for (const auto& item : node) {
      if (!item.IsScalar()) fail(item.Mark(), fmt::format("{}: expected a name", key.path()));
      value.push_back(item.Scalar());
    }
  } else if (node.IsScalar()) {
    value.push_back(node.Scalar());
  } else {
    const char* found = node.IsMap() ? "a section" : "a list";
    fail(node.Mark(), fmt::format("{}: found {}; allowed: {}", key.path(), found, key.allowed));
  }
  try {
    key.set(config, value);
  } catch (const ConfigError& error) {
    fail(node.Mark(), fmt::format("{}: {}", key.path(), error.what()));
  }
}

std::string_view trim(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// "[a, b]" or "a,b"
WrittenValue split_list(std::string_view text) {
  text = trim(text);
  if (text.starts_with('[') && text.ends_with(']')) text = trim(text.substr(1, text.size() - 2));
  WrittenValue items;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    items.emplace_back(trim(text.substr(0, comma)));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return items;
}

void apply_override(const Schema& schema, std::string_view text, RunConfig& config) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) throw ConfigError("expected key=value");
  const std::string_view path = trim(text.substr(0, equals));
  const std::string_view value = text.substr(equals + 1);
  if (is_section(schema, path)) throw ConfigError(describe_section(schema, path));
  const std::size_t dot = path.find('.');
  const std::string_view section = dot == std::string_view::npos ? "" : path.substr(0, dot);
  const std::string_view name = path.substr(dot == std::string_view::npos ? 0 : dot + 1);
  if (!section.empty() && !is_section(schema, section)) {
    throw ConfigError(describe_unknown_key(schema, "", section));
  }
  const ConfigKey* key = find_key(schema, section, name);
  if (key == nullptr) throw ConfigError(describe_unknown_key(schema, section, name));
  key->set(config, key->is_list ? split_list(value) : WrittenValue{std::string(value)});
}

}  // namespace

RunConfig load_config(const std::optional<std::string>& path,
                      std::span<const std::string> overrides, const KnownNames& names) {
  const Schema schema = make_schema(names);
  RunConfig config;
  if (path) FileReader(schema).read(*path, config);
  for (const std::string& text : overrides) {
    try {
      apply_override(schema, text, config);
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("override '{}': {}", text, error.what()));
    }
  }
  validate(config);
  config.output = expand_output(config);
  config.store.path = expand_store_path(config);
  return config;
}

}  // namespace impart

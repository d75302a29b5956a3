#include "impart/config/config_keys.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impart/core/error.h"
#include "impart/core/named_table.h"

namespace impart::config {
namespace {

/// The path of the only key of that name or path, "" if there is none or more than one.
std::string find_elsewhere(const Schema& schema, std::string_view name) {
  std::vector<std::string> found;
  for (const ConfigKey& key : schema) {
    if (key.name == name || key.path() == name) found.push_back(key.path());
  }
  return found.size() == 1 ? found[0] : "";
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

}  // namespace

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

std::vector<std::string_view> keys_in(const Schema& schema, std::string_view section) {
  std::vector<std::string_view> names;
  if (section.empty()) names.push_back(kBaseKey);
  for (const ConfigKey& key : schema) {
    if (key.section == section) names.push_back(key.name);
    const bool new_section = section.empty() && !key.section.empty() && names.back() != key.section;
    if (new_section) names.push_back(key.section);
  }
  return names;
}

std::string describe_unknown_key(const Schema& schema, std::string_view section,
                                 std::string_view name) {
  const std::string where = section.empty() ? "" : fmt::format(" in {}", section);
  const auto allowed = keys_in(schema, section);
  std::string meant = find_elsewhere(schema, name);
  if (meant.empty()) meant = nearest_name(name, allowed);
  if (!meant.empty()) {
    return fmt::format("unknown key '{}'{}, did you mean '{}'?", name, where, meant);
  }
  return fmt::format("unknown key '{}'{}; there are: {}", name, where, fmt::join(allowed, ", "));
}

std::string describe_section(const Schema& schema, std::string_view section) {
  return fmt::format("{} is a section with the keys {}", section,
                     fmt::join(keys_in(schema, section), ", "));
}

const ConfigKey& key_at(const Schema& schema, std::string_view path) {
  if (is_section(schema, path)) throw ConfigError(describe_section(schema, path));
  if (const ConfigKey* key = find_key(schema, "", path)) return *key;  // seed.init has a dot
  const std::size_t dot = path.find('.');
  const std::string_view section = dot == std::string_view::npos ? "" : path.substr(0, dot);
  const std::string_view name = path.substr(dot == std::string_view::npos ? 0 : dot + 1);
  if (!section.empty() && !is_section(schema, section)) {
    const bool is_key = find_key(schema, "", section) != nullptr;
    throw ConfigError(describe_unknown_key(schema, "", is_key ? path : section));
  }
  const ConfigKey* key = find_key(schema, section, name);
  if (key == nullptr) throw ConfigError(describe_unknown_key(schema, section, name));
  return *key;
}

const ConfigKey& overridden_key(const Schema& schema, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) throw ConfigError("expected key=value");
  return key_at(schema, trim(text.substr(0, equals)));
}

void apply_override(const Schema& schema, std::string_view text, RunConfig& config) {
  const ConfigKey& key = overridden_key(schema, text);
  const std::string_view value = text.substr(text.find('=') + 1);
  const bool is_list = key.is_list || (key.joins_lists && value.starts_with('['));
  key.set(config, is_list ? split_list(value) : WrittenValue{std::string(value)});
}

}  // namespace impart::config

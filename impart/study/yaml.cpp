#include "impart/study/yaml.h"

#include <algorithm>
#include <array>

#include "impart/config/config_keys.h"
#include "impart/core/named_table.h"

namespace impart::study {
namespace {

constexpr std::array<std::string_view, 3> kRangeKeys = {"from", "to", "step"};

}  // namespace

void StudyYaml::check_map(const YAML::Node& map, std::string_view what,
                          std::span<const std::string_view> allowed) const {
  std::vector<std::string> seen;
  for (const auto& entry : map) {
    if (!entry.first.IsScalar()) fail(entry.first, "a key must be a word");
    const std::string& name = entry.first.Scalar();
    if (std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
      fail(entry.first, describe_unknown_name(what, name, allowed));
    }
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      fail(entry.first, fmt::format("key '{}' is there twice", name));
    }
    if (entry.second.IsNull()) fail(entry.first, name + " has no value");
    seen.push_back(name);
  }
}

void StudyYaml::visit_keys(const YAML::Node& map, const VisitKey& visit, bool in_arm) const {
  if (!map.IsMap()) fail(map, "expected keys of the configuration, as in 'partition.warmup: 5'");
  std::vector<std::string> seen;
  const VisitKey visit_once = [&](const config::ConfigKey& key, const YAML::Node& node) {
    if (std::find(seen.begin(), seen.end(), key.path()) != seen.end()) {
      fail(node, fmt::format("key '{}' is there twice", key.path()));
    }
    seen.push_back(key.path());
    visit(key, node);
  };
  for (const auto& entry : map) {
    if (!entry.first.IsScalar()) fail(entry.first, "a key must be a word");
    const std::string& name = entry.first.Scalar();
    if (in_arm && name == "baseline") continue;
    if (!config::is_section(schema_, name) || !entry.second.IsMap()) {
      visit_key(name, entry.first, entry.second, visit_once);
      continue;
    }
    for (const auto& inner : entry.second) {
      if (!inner.first.IsScalar()) fail(inner.first, "a key must be a word");
      visit_key(name + "." + inner.first.Scalar(), inner.first, inner.second, visit_once);
    }
  }
}

void StudyYaml::visit_key(const std::string& path, const YAML::Node& name, const YAML::Node& node,
                          const VisitKey& visit) const {
  if (path == "seed") fail(name, "a study's seeds stand in 'seeds', the same for every arm");
  if (path == "name" || path == "output") {
    fail(name, fmt::format("{} belongs to the study, at the top of its file", path));
  }
  const config::ConfigKey* key = nullptr;
  try {
    key = &config::key_at(schema_, path);
  } catch (const ConfigError& error) {
    fail(name, error.what());
  }
  if (node.IsNull()) fail(name, path + " has no value");
  visit(*key, node);
}

/// The value as a configuration writes it: "0.50" becomes "0.5".
config::WrittenValue StudyYaml::checked(const config::ConfigKey& key,
                                        const config::WrittenValue& written,
                                        const YAML::Node& node) const {
  return at(node, key.path(), [&] {
    config::RunConfig scratch;
    key.set(scratch, written);
    return key.get(scratch);
  });
}

Settings StudyYaml::read_settings(const YAML::Node& map) const {
  Settings settings;
  visit_keys(
      map,
      [&](const config::ConfigKey& key, const YAML::Node& node) {
        settings.push_back(
            {key.path(), checked(key, config::written_value(path_, node, key), node)});
      },
      true);
  return settings;
}

Grid StudyYaml::read_grid(const YAML::Node& map) const {
  Grid grid;
  visit_keys(map, [&](const config::ConfigKey& key, const YAML::Node& node) {
    grid.push_back({key.path(), read_values(key, node)});
  });
  return grid;
}

std::vector<config::WrittenValue> StudyYaml::read_values(const config::ConfigKey& key,
                                                         const YAML::Node& node) const {
  std::vector<config::WrittenValue> values;
  const auto add = [&](const config::WrittenValue& written, const YAML::Node& from) {
    const config::WrittenValue value = checked(key, written, from);
    if (std::find(values.begin(), values.end(), value) != values.end()) {
      fail(from, fmt::format("{}: the same value twice", key.path()));
    }
    values.push_back(value);
  };
  if (node.IsMap()) {
    for (const std::string& number : read_range(key, node)) add({number}, node);
  } else if (node.IsSequence()) {
    for (const auto& item : node) add(config::written_value(path_, item, key), item);
  } else {
    add(config::written_value(path_, node, key), node);
  }
  if (values.empty()) fail(node, fmt::format("{}: the list is empty", key.path()));
  return values;
}

std::vector<std::string> StudyYaml::read_range(const config::ConfigKey& key,
                                               const YAML::Node& map) const {
  check_map(map, "key of a range", kRangeKeys);
  const auto part = [&](const char* name) {
    if (!map[name]) fail(map, fmt::format("{}: expected {{from: …, to: …, step: …}}", key.path()));
    return value(map[name], name, config::text());
  };
  const std::string from = part("from");
  const std::string to = part("to");
  const std::string step = map["step"] ? part("step") : "1";
  return at(map, key.path(), [&] { return numbers_between(from, to, step); });
}

}  // namespace impart::study

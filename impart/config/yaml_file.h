#pragma once

#include <string>

#include <yaml-cpp/yaml.h>

#include "impart/config/schema.h"

namespace impart::config {

// What reading YAML files has in common. Only sources include this: it needs yaml-cpp.

/// Throws the ConfigError "path:line:column: what".
[[noreturn]] void fail_at(const std::string& path, const YAML::Mark& mark, const std::string& what);

/// The one document of the file; ConfigError if it cannot be read, is not YAML, or is out of all
/// proportion: its size, its depth, or what its aliases add up to.
YAML::Node parse_yaml(const std::string& path);
/// The same of a text; `path` is for messages.
YAML::Node parse_yaml(const std::string& path, const std::string& text);

/// The value as it stands in the file; ConfigError if the key takes no value of that shape.
WrittenValue written_value(const std::string& path, const YAML::Node& node, const ConfigKey& key);

/// Reads the value into the config; ConfigError says where, what was found and what is allowed.
void set_key(const std::string& path, const YAML::Node& node, const ConfigKey& key,
             RunConfig& config);

}  // namespace impart::config

#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

#include "impart/config/schema.h"
#include "impart/core/error.h"
#include "impart/core/random.h"

namespace impart::testing {

/// The names in "a | b | c", with an introduction cut off.
inline std::vector<std::string> names_in_allowed(std::string allowed) {
  if (allowed.starts_with("list of ")) allowed.erase(0, 8);
  std::vector<std::string> names;
  while (true) {
    const std::size_t bar = allowed.find(" | ");
    names.push_back(allowed.substr(0, bar));
    if (bar == std::string::npos) return names;
    allowed.erase(0, bar + 3);
  }
}

/// Texts that could be right for a key: among them one that is, whatever the key.
inline std::vector<config::WrittenValue> candidates(const config::ConfigKey& key,
                                                    RandomStream& random) {
  std::vector<config::WrittenValue> values;
  for (const std::string& name : names_in_allowed(key.allowed)) values.push_back({name});
  if (key.is_list) values.push_back({values.front().front(), values.back().front()});
  if (key.is_list) return values;
  values.push_back({fmt::to_string(random.below(1000))});
  values.push_back({fmt::to_string(2 + random.below(8))});
  values.push_back({fmt::to_string(random.uniform())});
  values.push_back({fmt::to_string(random.next64())});
  if (key.allowed.starts_with("as ")) {  // an example follows
    values.push_back({std::string(key.allowed.substr(3, key.allowed.find(',') - 3))});
  }
  if (key.allowed == "text") values.push_back({"it's: a \"text\" # \\ [ö] {x} - ~, 'y' "});
  if (key.allowed == "text") values.push_back({""});
  if (key.allowed == "text") values.push_back({"null"});
  return values;
}

inline bool try_set(const config::ConfigKey& key, const config::WrittenValue& value,
                    config::RunConfig& config) {
  try {
    key.set(config, value);
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

/// `start`, in which every key in turn gets one of its candidates; what `is_valid` refuses, since
/// it contradicts the others, is taken back.
template <class IsValid>
config::RunConfig random_config(const config::RunConfig& start, const config::Schema& schema,
                                RandomStream& random, const IsValid& is_valid) {
  config::RunConfig config = start;
  for (const config::ConfigKey& key : schema) {
    const auto values = candidates(key, random);
    for (int attempt = 0; attempt < 5; ++attempt) {
      config::RunConfig changed = config;
      if (!try_set(key, values[random.below(values.size())], changed) || !is_valid(changed))
        continue;
      config = changed;
      break;
    }
  }
  return config;
}

}  // namespace impart::testing

#include "impart/cost/machine.h"

#include <fmt/format.h>

#include "impart/config/yaml_file.h"
#include "impart/core/error.h"
#include "impart/core/named_table.h"

namespace impart::cost {
namespace {

const MachineKey& find_key(const std::string& path, const YAML::Node& name) {
  try {
    return find_entry(kMachineKeys, "key of a machine", name.IsScalar() ? name.Scalar() : "");
  } catch (const ConfigError& error) {
    config::fail_at(path, name.Mark(), error.what());
  }
}

double read_value(const std::string& path, const MachineKey& key, const YAML::Node& value) {
  try {
    return key.parse(value.IsScalar() ? value.Scalar() : "");
  } catch (const ConfigError& error) {
    config::fail_at(path, value.Mark(), fmt::format("{}: {}", key.name, error.what()));
  }
}

}  // namespace

Machine load_machine(const std::string& path) {
  const YAML::Node root = config::parse_yaml(path);
  if (!root.IsMap()) {
    config::fail_at(path, root.Mark(), "expected a machine: keys as in 'network: 25Gb/s'");
  }
  Machine machine;
  for (const auto& pair : root) {
    const MachineKey& key = find_key(path, pair.first);
    machine.*key.value = read_value(path, key, pair.second);
  }
  return machine;
}

}  // namespace impart::cost

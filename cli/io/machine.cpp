#include "cli/io/machine.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "cli/numbers.h"
#include "cli/presets.h"
#include "impart/core/error.h"
#include "impart/core/named_table.h"
#include <CLI/CLI.hpp>

namespace impart::cli {
namespace {

struct LayoutRow {
  std::string_view name;
  cost::StoreLayout layout;
};
constexpr LayoutRow kLayouts[] = {
    {"directories", cost::StoreLayout::kDirectories},
    {"memory", cost::StoreLayout::kMemory},
    {"replicated", cost::StoreLayout::kReplicated},
};
static_assert(names_are_unique(kLayouts));

/// "--file-system" for file_system.
std::string flag_of(const cost::MachineKey& key) {
  std::string flag = fmt::format("--{}", key.name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

double parse_flag(const cost::MachineKey& key, const std::string& text) {
  try {
    return key.parse(text);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", flag_of(key), error.what()));
  }
}

}  // namespace

void add_machine_options(CLI::App& command, MachineOptions& options) {
  command.add_option("--machine", options.machine,
                     "seconds on a machine of 'impart list machines', or of a YAML file; flags "
                     "below win over it");
  for (std::size_t i = 0; i < options.rates.size(); ++i) {
    const cost::MachineKey& key = cost::kMachineKeys[i];
    command.add_option(flag_of(key), options.rates[i], std::string(key.help));
  }
  command
      .add_option("--steps-per-epoch", options.steps, "of a worker; if left out, those of --batch")
      ->check(positive_number());
  command.add_option("--store", options.store,
                     "where parts are, for seconds: directories (if left out), memory, or "
                     "replicated: what is visited is read from the data set's files");
}

std::optional<cost::Machine> read_machine(const MachineOptions& options) {
  cost::Machine machine;
  bool is_known = !options.machine.empty();
  if (is_known) {
    machine = cost::load_machine(choose_file(PresetKind::kMachine, options.machine).path);
  }
  for (std::size_t i = 0; i < options.rates.size(); ++i) {
    if (options.rates[i].empty()) continue;
    const cost::MachineKey& key = cost::kMachineKeys[i];
    machine.*key.value = parse_flag(key, options.rates[i]);
    is_known = true;
  }
  if (is_known) return machine;
  if (options.steps || !options.store.empty()) {
    throw ConfigError(
        fmt::format("{} is for seconds: say how fast the machine is, with --machine "
                    "NAME or --network 25Gb/s",
                    options.steps ? "--steps-per-epoch" : "--store"));
  }
  return std::nullopt;
}

cost::StoreLayout read_layout(const MachineOptions& options) {
  if (options.store.empty()) return cost::StoreLayout::kDirectories;
  return find_entry(kLayouts, "store", options.store).layout;
}

}  // namespace impart::cli

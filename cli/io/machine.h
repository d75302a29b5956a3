// How `impart io` is told how fast a machine is.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>

#include "impart/cost/epoch_time.h"

namespace CLI {
class App;
}  // namespace CLI

namespace impart::cli {

/// As typed; "" where nothing was.
struct MachineOptions {
  std::string machine;  ///< a name, or a file
  std::array<std::string, std::size(cost::kMachineKeys)> rates = {};
  std::optional<std::uint32_t> steps = {};
  std::string store;
};

void add_machine_options(CLI::App& command, MachineOptions& options);

/// None if no rate was given. ConfigError if one is wrong, or if what needs one stands alone.
std::optional<cost::Machine> read_machine(const MachineOptions& options);

/// Where parts are kept; ConfigError with a suggestion for what is no store.
cost::StoreLayout read_layout(const MachineOptions& options);

}  // namespace impart::cli

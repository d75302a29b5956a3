#pragma once

#include <string>
#include <string_view>

#include "impart/cost/units.h"

namespace impart::cost {

/// What the nodes of a cluster can do. What is 0 is not known, and then takes no time.
struct Machine {
  double disk = 0;         ///< bytes/s that each node reads or writes on a disk of its own
  double network = 0;      ///< bytes/s that each node sends, and receives at the same time
  double latency = 0;      ///< seconds of a message beside its bytes
  double file_system = 0;  ///< bytes/s of a file system of all nodes, all of them together
  double step = 0;         ///< seconds that a node computes in a training step
};

/// A member of Machine: how it is called in a file (and, with "-" for "_", as a flag), and written.
struct MachineKey {
  std::string_view name;
  double Machine::*value;
  double (*parse)(std::string_view text);
  std::string_view help;
};
inline constexpr MachineKey kMachineKeys[] = {
    {"disk", &Machine::disk, parse_rate, "of each node: 2GB/s"},
    {"network", &Machine::network, parse_rate, "of each node, in each direction: 25Gb/s (b: bits)"},
    {"latency", &Machine::latency, parse_seconds, "of a message: 5us"},
    {"file_system", &Machine::file_system, parse_rate,
     "that all nodes share, all together: 10GB/s; where there are no disks, parts lie there, too"},
    {"step", &Machine::step, parse_seconds,
     "that a training step computes, forward and backward: 250ms"},
};

/// Reads a YAML file of these keys: "network: 25Gb/s". ConfigError says where, what was found, and
/// what is allowed.
Machine load_machine(const std::string& path);

}  // namespace impart::cost

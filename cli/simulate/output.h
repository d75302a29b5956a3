// How `impart simulate` shows how long exchanges take.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "impart/cost/cluster/cluster_strategies.h"

namespace impart::cli {

/// One strategy on one number of nodes.
struct SimulatedRow {
  std::uint32_t nodes = 0;
  std::string strategy;
  double interval = 1;  ///< epochs between two exchanges
  std::vector<cost::EpochExchange> exchanges = {};
  /// Seconds of an epoch beside the exchange; 0 if nobody said how long a step takes, or how large
  /// the model is.
  double compute = 0, gradients = 0, importance_pass = 0;
};

struct SimulatedTable {
  std::string network;                       ///< "25 Gb/s, 20 us, 95 % for payloads"
  std::vector<std::string> topologies = {};  ///< described, one for each number of nodes
  std::uint64_t examples = 0;                ///< 0: as many for each node
  double payload_bytes = 0;
  std::vector<SimulatedRow> rows = {};
  bool has_epochs = false;  ///< a step's seconds are known
};

enum class SimulatedFormat { kTable, kCsv, kJson };
void print_simulation(const SimulatedTable& table, SimulatedFormat format);

}  // namespace impart::cli

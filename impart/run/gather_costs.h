#pragma once

#include <cstdint>
#include <vector>

#include "impart/comm/communicator.h"
#include "impart/run/ledger_file.h"

namespace impart::run {

/// What this process knows of an epoch's cost.
struct EpochCosts {
  std::uint32_t epoch = 0;
  std::vector<store::StorageCost> workers = {};  ///< hosted here, in order
  ProcessCost process = {};
};

/// The costs of all processes, for the ledger. `workers` is their number in the run.
/// Collective: every process calls it, in the same order.
LedgerEpoch gather_costs(const EpochCosts& mine, std::uint32_t workers,
                         comm::Communicator& communicator);

}  // namespace impart::run

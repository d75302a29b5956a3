#pragma once

#include <cstdint>
#include <vector>

#include "impart/comm/communicator.h"
#include "impart/train/ledger_file.h"

namespace impart {

/// What this process knows of an epoch's cost.
struct EpochCosts {
  std::uint32_t epoch = 0;
  std::vector<StorageCost> workers = {};  ///< hosted here, in order
  ProcessCost process = {};
};

/// The costs of all processes, for the ledger. `workers` is their number in the run.
/// Collective: every process calls it, in the same order.
LedgerEpoch gather_costs(const EpochCosts& mine, std::uint32_t workers, Communicator& communicator);

}  // namespace impart

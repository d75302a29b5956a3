#pragma once

#include <cstdint>

#include "impart/comm/communicator.h"
#include "impart/run/ledger_file.h"
#include "impart/run/summary.h"
#include "impart/store/ledger.h"
#include "impart/store/store.h"

namespace impart::train {

/// What a run costs, epoch by epoch: storage, bytes between processes, and where the time went.
class RunCosts {
 public:
  /// `workers` is their number in the run. Counts the communicator's traffic from its beginning.
  RunCosts(comm::Communicator& communicator, std::uint32_t workers)
      : communicator_(communicator), workers_(workers) {}

  /// Of the epoch under way, in this process; whoever spends time adds it here.
  store::PhaseSeconds& seconds() { return seconds_; }

  /// The ledger's line of an epoch, and the epoch's share in the summary; the next epoch begins.
  /// Collective: every process calls it, in the same order.
  run::LedgerEpoch end_epoch(std::uint32_t epoch, store::Store& store, std::uint64_t skipped,
                             run::RunSummary& summary);

 private:
  comm::Communicator& communicator_;
  std::uint32_t workers_;
  comm::Traffic counted_;  ///< of the communicator, in the ledger already
  store::PhaseSeconds seconds_;
};

}  // namespace impart::train

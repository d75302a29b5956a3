#pragma once

#include <cstdint>
#include <optional>

#include "impart/comm/communicator.h"
#include "impart/placement/schedule.h"
#include "impart/run/ledger_file.h"
#include "impart/run/summary.h"
#include "impart/store/store.h"
#include "impart/train/costs/phase_clock.h"

namespace impart::train {

/// What a run costs, epoch by epoch: storage, bytes between processes, and where the time went.
class RunCosts {
 public:
  /// `workers` is their number in the run. Counts the communicator's traffic from its beginning.
  RunCosts(comm::Communicator& communicator, std::uint32_t workers)
      : communicator_(communicator), workers_(workers) {}

  /// Adds what a part of the epoch under way took, in this process. `event` is what happened to
  /// the partition before it, if anything.
  void add_seconds(const PhaseReading& reading, std::optional<placement::ScheduleEvent::Kind> event,
                   run::RunSummary& summary);

  /// The ledger's line of an epoch, and the epoch's share in the summary; the next epoch begins.
  /// Collective: every process calls it, in the same order.
  run::LedgerEpoch end_epoch(std::uint32_t epoch, store::Store& store, std::uint64_t skipped,
                             run::RunSummary& summary);

 private:
  comm::Communicator& communicator_;
  std::uint32_t workers_;
  comm::Traffic counted_;  ///< of the communicator, in the ledger already
  PhaseReading seconds_;   ///< of the epoch under way
};

}  // namespace impart::train

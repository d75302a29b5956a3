#pragma once

#include <cstdint>
#include <optional>

#include "impart/comm/communicator.h"
#include "impart/data/payloads/payload_source.h"
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

  /// What an epoch has to tell beside its time.
  struct EpochFacts {
    std::uint32_t epoch = 0;
    std::uint64_t skipped = 0;           ///< examples that could not be read
    std::uint64_t bytes_statistics = 0;  ///< sent for batch norms since the beginning
    /// What is read at every visit; null where everything is in memory.
    const data::PayloadSource* source = nullptr;
  };
  /// The ledger's line of an epoch, and the epoch's share in the summary; the next epoch begins.
  /// Collective: every process calls it, in the same order.
  run::LedgerEpoch end_epoch(const EpochFacts& facts, store::Store& store,
                             run::RunSummary& summary);

 private:
  comm::Communicator& communicator_;
  std::uint32_t workers_;
  comm::Traffic counted_;  ///< of the communicator, in the ledger already
  std::uint64_t counted_statistics_ = 0, counted_requests_ = 0;
  PhaseReading seconds_;  ///< of the epoch under way
};

}  // namespace impart::train

#include "impart/train/run_costs.h"

#include <algorithm>
#include <utility>

#include "impart/run/gather_costs.h"

namespace impart::train {

run::LedgerEpoch RunCosts::end_epoch(std::uint32_t epoch, store::Store& store,
                                     std::uint64_t skipped, run::RunSummary& summary) {
  const comm::Traffic& sent = communicator_.traffic();
  const run::EpochCosts mine{.epoch = epoch,
                             .workers = store.take_costs(),
                             .process = {.bytes_sent = sent.bytes - counted_.bytes,
                                         .sends = sent.messages - counted_.messages,
                                         .seconds = std::exchange(seconds_, {})}};
  counted_ = sent;
  run::LedgerEpoch line = run::gather_costs(mine, workers_, communicator_);
  line.skipped = skipped;
  const store::StorageCost total = run::total_over_workers(line);
  summary.bytes_disk += total.bytes_source + total.bytes_local;
  summary.peak_stored_examples = std::max(summary.peak_stored_examples, total.peak_stored);
  for (const run::ProcessCost& process : line.processes) {
    summary.bytes_network += process.bytes_sent;
  }
  return line;
}

}  // namespace impart::train

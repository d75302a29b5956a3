#include "impart/train/costs/run_costs.h"

#include <algorithm>
#include <utility>

#include "impart/run/gather_costs.h"

namespace impart::train {

void RunCosts::add_seconds(const PhaseReading& reading,
                           std::optional<placement::ScheduleEvent::Kind> event,
                           run::RunSummary& summary) {
  const store::PhaseSeconds& took = reading.seconds;
  seconds_.seconds += took;
  seconds_.host_wait += reading.host_wait;
  const bool is_exchange = event && *event == placement::ScheduleEvent::Kind::kExchange;
  (is_exchange ? summary.seconds_exchange : summary.seconds_partition) +=
      took.partition + took.importance_pass + took.exchange;
  summary.seconds_importance_pass += took.importance_pass;
  summary.seconds_train += took.training();
  summary.seconds_tracking += took.tracking;
  summary.seconds_refresh += took.refresh;
  summary.seconds_dissimilarity += took.dissimilarity;
  summary.seconds_eval += took.evaluation;
  summary.seconds_checkpoint += took.checkpoint;
  summary.seconds_other += took.other;
}

run::LedgerEpoch RunCosts::end_epoch(const EpochFacts& facts, store::Store& store,
                                     run::RunSummary& summary) {
  const comm::Traffic& sent = communicator_.traffic();
  const PhaseReading took = std::exchange(seconds_, {});
  const run::EpochCosts mine{
      .epoch = facts.epoch,
      .workers = store.take_costs(),
      .process = {.bytes_sent = sent.bytes - counted_.bytes,
                  .bytes_statistics = facts.bytes_statistics - counted_statistics_,
                  .sends = sent.messages - counted_.messages,
                  .seconds = took.seconds,
                  .host_wait = took.host_wait}};
  counted_ = sent;
  counted_statistics_ = facts.bytes_statistics;
  run::LedgerEpoch line = run::gather_costs(mine, workers_, communicator_);
  line.skipped = facts.skipped;
  const store::StorageCost total = run::total_over_workers(line);
  summary.bytes_disk += total.bytes_source + total.bytes_local;
  summary.peak_stored_examples = std::max(summary.peak_stored_examples, total.peak_stored);
  for (const run::ProcessCost& process : line.processes) {
    summary.bytes_network += process.bytes_sent;
    summary.bytes_statistics += process.bytes_statistics;
  }
  return line;
}

}  // namespace impart::train

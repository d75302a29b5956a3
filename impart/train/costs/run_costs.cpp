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
  summary.seconds_data_wait += took.data_wait;
  summary.seconds_tracking += took.tracking;
  summary.seconds_refresh += took.refresh;
  summary.seconds_dissimilarity += took.dissimilarity;
  summary.seconds_eval += took.evaluation;
  summary.seconds_checkpoint += took.checkpoint;
  summary.seconds_other += took.other;
}

run::LedgerEpoch RunCosts::end_epoch(const EpochFacts& facts, store::Store& store,
                                     run::RunSummary& summary) {
  const comm::Traffic sent = communicator_.traffic();
  const PhaseReading took = std::exchange(seconds_, {});
  const double hidden = std::max(0.0, store.take_seconds_moving() - took.seconds.exchange);
  summary.seconds_exchange_hidden += hidden;
  const std::uint64_t requests = facts.source ? facts.source->requests() : 0;
  const bool is_remote = facts.source && facts.source->is_remote();
  const run::EpochCosts mine{
      .epoch = facts.epoch,
      .workers = store.take_costs(),
      .process = {.bytes_sent = sent.bytes - counted_.bytes,
                  .bytes_statistics = facts.bytes_statistics - counted_statistics_,
                  .sends = sent.messages - counted_.messages,
                  .requests_source = requests - counted_requests_,
                  .seconds = took.seconds,
                  .host_wait = took.host_wait,
                  .exchange_hidden = hidden}};
  counted_ = sent;
  counted_statistics_ = facts.bytes_statistics;
  counted_requests_ = requests;
  run::LedgerEpoch line = run::gather_costs(mine, workers_, communicator_);
  line.skipped = facts.skipped;
  const store::StorageCost total = run::total_over_workers(line);
  summary.bytes_disk += (is_remote ? 0 : total.bytes_source) + total.bytes_local;
  summary.bytes_source += total.bytes_source;
  summary.bytes_peers += total.bytes_peers;
  summary.cache_hits += total.cache_hits;
  summary.cache_hits_disk += total.cache_hits_disk;
  summary.cache_hits_peers += total.cache_hits_peers;
  summary.cache_misses += total.cache_misses;
  summary.peak_stored_examples = std::max(summary.peak_stored_examples, total.peak_stored);
  for (const run::ProcessCost& process : line.processes) {
    summary.bytes_network += process.bytes_sent;
    summary.bytes_statistics += process.bytes_statistics;
    summary.requests_source += process.requests_source;
  }
  return line;
}

}  // namespace impart::train

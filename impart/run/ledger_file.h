#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "impart/store/ledger.h"

namespace impart::run {

/// What one process sent for gradients, signals, statistics and examples together, and where its
/// time went.
struct ProcessCost {
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_statistics = 0;  ///< of these: sums that batch norms share
  std::uint64_t sends = 0;             ///< comm::Traffic::messages
  std::uint64_t requests_source = 0;   ///< to the server of a remote data set
  store::PhaseSeconds seconds = {};
  double host_wait = 0;  ///< seconds of these phases in which the host waited for its GPU
  /// Seconds in which examples moved while none of these phases waited for it (phase `exchange`).
  double exchange_hidden = 0;
};

/// What the workers visited in an epoch, and what a selection spared them.
struct VisitCosts {
  std::uint64_t visits = 0;
  std::uint64_t hidden = 0;       ///< examples that were not visited
  std::uint64_t refreshed = 0;    ///< of them, that had a forward pass at the end of the epoch
  std::uint64_t bytes_saved = 0;  ///< of payloads that were neither read nor decoded for a visit
  double max_over_mean = 1;       ///< of the workers' visits
};

/// What workers add up in an epoch to have one model: gradients in every step, or weights now and
/// then.
struct WeightCosts {
  std::uint64_t sums = 0;
  /// That all workers send for them, each in a machine of its own: weight_bytes(sums, …).
  std::uint64_t bytes = 0;
};

/// What `workers` send to add up so many times an array of `parameters` floats in a ring: each
/// 2·4·P·(n−1)/n bytes a time.
constexpr std::uint64_t weight_bytes(std::uint64_t sums, std::uint64_t workers,
                                     std::uint64_t parameters) {
  return sums * 2 * 4 * parameters * (workers - 1);
}

/// What one epoch of a run cost: one line of ledger.jsonl.
struct LedgerEpoch {
  std::uint32_t epoch = 0;
  std::vector<store::StorageCost> workers = {};  ///< by worker
  std::vector<ProcessCost> processes = {};       ///< by rank
  std::uint64_t skipped = 0;                     ///< examples left out because they were unreadable
  std::optional<VisitCosts> visits = {};         ///< none in older files
  std::optional<WeightCosts> weights = {};       ///< none in older files
};

/// The line: {"epoch", "workers": [{"worker", …}], "processes": [{"rank", …, "host_wait",
/// "exchange_hidden", "seconds": {…}}], "skipped", "visits": {…}, "weights": {…}}, members under
/// the names of impart/store/ledger.h. Append it to a MetricsLog.
nlohmann::ordered_json ledger_record(const LedgerEpoch& epoch);

/// All whole lines of a ledger, which may still grow. DataError (path:line) if a line lacks a
/// member, has one of another type, or names workers or ranks other than 0, 1, 2, … in order.
std::vector<LedgerEpoch> read_ledger(const std::string& path);

/// The sum over workers; of `peak_stored` the largest.
store::StorageCost total_over_workers(const LedgerEpoch& epoch);

}  // namespace impart::run

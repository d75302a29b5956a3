#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "impart/placement/placement.h"
#include "impart/run/ledger_file.h"
#include "impart/run/metrics_log.h"
#include "impart/run/tensorboard.h"

namespace impart::run {

/// What one epoch came to.
struct EpochResult {
  std::uint32_t epoch = 0;
  std::uint64_t step = 0;  ///< of the run, after the epoch
  double learning_rate = 0;
  double train_loss = 0, train_accuracy = 0;
  std::optional<double> test_loss = {}, test_accuracy = {};
  std::optional<double> test_perplexity = {}, test_bits_per_byte = {};  ///< of language
  std::uint64_t non_finite = 0;  ///< visits with a NaN or infinite signal
  std::uint64_t skipped = 0;     ///< examples that could not be read
  double seconds_train = 0, seconds = 0;
};

/// "random", "heuristic", "exchange".
std::string_view name_of(placement::ScheduleEvent::Kind kind);

struct RunRecorderSpec {
  std::string folder;            ///< the run directory
  std::uint32_t next_epoch = 0;  ///< first to be recorded; later ones that are there are cut off
  std::string notion = {};       ///< what importance is called in histograms
  bool save_partitions = false;  ///< every one, in partitions/
};

/// Writes what happens in a run into its directory while it happens: metrics.jsonl, ledger.jsonl,
/// TensorBoard events, partitions. Only one process of a run has one. IoError.
class RunRecorder {
 public:
  explicit RunRecorder(RunRecorderSpec spec);

  void record_change(std::uint32_t epoch, const placement::PlacementChange& change,
                     const placement::Partition& partition);
  /// `change` is what happened before the epoch, or null.
  void record_epoch(const EpochResult& result, const placement::PlacementChange* change);
  void record_costs(const LedgerEpoch& costs);

 private:
  RunRecorderSpec spec_;
  MetricsLog metrics_, ledger_;
  EventWriter events_;
};

}  // namespace impart::run

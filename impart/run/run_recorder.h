#pragma once

#include <cstdint>
#include <string>

#include "impart/placement/placement.h"
#include "impart/run/epoch_record.h"
#include "impart/run/ledger_file.h"
#include "impart/run/metrics_log.h"
#include "impart/run/tensorboard.h"

namespace impart::run {

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
  void record_epoch(const EpochRecord& record);
  void record_costs(const LedgerEpoch& costs);

 private:
  RunRecorderSpec spec_;
  MetricsLog metrics_, ledger_;
  EventWriter events_;
};

}  // namespace impart::run

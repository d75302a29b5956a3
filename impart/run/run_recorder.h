#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "impart/placement/placement.h"
#include "impart/run/epoch_record.h"
#include "impart/run/image_file.h"
#include "impart/run/ledger_file.h"
#include "impart/run/metrics_log.h"
#include "impart/run/tensorboard.h"

namespace impart::run {

struct RunRecorderSpec {
  std::string folder;            ///< the run directory
  std::uint32_t next_epoch = 0;  ///< first to be recorded; later ones that are there are cut off
  std::string notion = {};       ///< what importance is called in histograms
  bool save_partitions = false;  ///< every one, in partitions/
  std::uint64_t next_step = 0;   ///< of the run; later ones are cut off in TensorBoard
  std::vector<RunSetting> settings = {};  ///< for TensorBoard's HPARAMS
  std::vector<std::string> metrics = {};  ///< the tags that the run is judged by
};

/// A step of training.
struct StepRecord {
  double loss = 0;
  double learning_rate = 0;
};

/// Writes what happens in a run into its directory while it happens: metrics.jsonl, ledger.jsonl,
/// TensorBoard events, partitions. Only one process of a run has one. IoError.
///
/// TensorBoard has two runs of it: what is known of epochs, and in steps/ what is known of steps,
/// since a run that goes on tells it to forget what is behind a point of the x axis.
class RunRecorder {
 public:
  explicit RunRecorder(RunRecorderSpec spec);

  void record_change(std::uint32_t epoch, const placement::PlacementChange& change,
                     const placement::Partition& partition);
  void record_epoch(const EpochRecord& record);
  void record_costs(const LedgerEpoch& costs);
  /// The steps of an epoch, of which the first is number `first` of the run. Of many, means of
  /// neighbours are kept.
  void record_steps(std::uint64_t first, std::span<const StepRecord> steps);
  /// How far the workers' models had come apart after this many steps of the run.
  void record_sync(std::uint64_t step, double divergence);
  /// Pictures of the hardest and easiest examples.
  void record_images(std::uint32_t epoch, std::span<const ImageRecord> images);

 private:
  RunRecorderSpec spec_;
  MetricsLog metrics_, ledger_;
  EventWriter events_, step_events_;
};

}  // namespace impart::run

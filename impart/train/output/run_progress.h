#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "impart/train/run.h"

namespace impart::train {

/// Where a run is; what a checkpoint keeps besides tensors, table and partition.
struct Position {
  std::uint32_t epoch = 0;
  std::uint32_t step = 0;         ///< next step of the epoch
  std::uint64_t total_steps = 0;  ///< of the run
};

/// Tells an observer how far a run is, and how long the rest will take at the speed so far.
class ProgressReporter {
 public:
  /// `observer` must outlive it.
  ProgressReporter(const RunObserver& observer, std::uint32_t epochs, std::uint64_t examples)
      : observer_(observer), epochs_(epochs), examples_(examples) {}

  double seconds() const;  ///< since it was made
  void count_trained(std::uint64_t examples) { trained_ += examples; }
  void set_last(const data::Task& task, std::optional<double> score);

  /// `steps` is the number of the epoch's, 0 if that is not known yet. A checkpoint between two
  /// epochs belongs to the one that has ended.
  void report(std::string_view phase, const Position& position, std::uint32_t steps,
              std::function<std::optional<double>()> running_loss) const;

 private:
  const RunObserver& observer_;
  std::uint32_t epochs_;
  std::uint64_t examples_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::uint64_t trained_ = 0;
  std::optional<double> score_;
  data::Task task_ = data::kClasses;
};

}  // namespace impart::train

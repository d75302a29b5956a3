#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/terminal/terminal.h"
#include "impart/train/run.h"

namespace impart::cli {

/// Shows a run on stderr: on a terminal a line that is painted over (phase, epoch, bar, loss of the
/// epoch so far, examples/s, time left), which is never wider than the terminal, and everywhere one
/// line per epoch.
class TrainDisplay {
 public:
  /// `part` is what the run is evaluated on: "test", "validation".
  TrainDisplay(Verbosity verbosity, std::string_view part) : verbosity_(verbosity), part_(part) {}

  /// Calls this display, which must outlive it.
  train::RunObserver observer();

 private:
  using Clock = std::chrono::steady_clock;

  void show_start(const train::RunStart& start);
  void show_progress(const train::RunProgress& progress);
  void show_partition(const train::PartitionReport& report);
  void show_epoch(const train::EpochReport& report);
  void ask_for_loss(const train::RunProgress& progress);
  void print_line(const std::string& line);

  const Verbosity verbosity_;
  const std::string_view part_;
  const Terminal terminal_ = look_at_terminal();
  Painting painting_;
  Clock::time_point last_paint_ = {}, next_loss_ = {};
  std::optional<double> loss_;    ///< as it was last asked for
  std::uint32_t loss_epoch_ = 0;  ///< whose it is
};

}  // namespace impart::cli

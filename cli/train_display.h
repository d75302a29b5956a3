#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/terminal/terminal.h"
#include "impart/train/run.h"

namespace impart::cli {

/// Shows a run on stderr: on a terminal a line that is painted over (phase, epoch, bar, loss of the
/// epoch so far, examples/s, time left), which is never wider than the terminal, and everywhere one
/// line per epoch.
class TrainDisplay {
 public:
  /// `print` takes the lines that stay; on stderr if it is left out.
  TrainDisplay(Verbosity verbosity, const config::RunConfig& config,
               std::function<void(const std::string&)> print = {})
      : verbosity_(verbosity),
        part_(config.data.validation > 0 ? "validation" : "test"),
        print_(std::move(print)) {}

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
  const std::string_view part_;  ///< what the run is evaluated on
  const std::function<void(const std::string&)> print_;
  const Terminal terminal_ = look_at_terminal();
  Painting painting_;
  Clock::time_point last_paint_ = {}, next_loss_ = {};
  std::optional<double> loss_;    ///< as it was last asked for
  std::uint32_t loss_epoch_ = 0;  ///< whose it is
};

}  // namespace impart::cli

#pragma once

#include <chrono>
#include <string>

#include "impart/train/run.h"

namespace impart::cli {

/// Shows a run on stderr: on a terminal a line that is painted over (phase, epoch, examples/s,
/// loss, accuracy, time left), and everywhere one plain line per epoch.
class TrainDisplay {
 public:
  TrainDisplay();
  ~TrainDisplay();
  TrainDisplay(const TrainDisplay&) = delete;
  TrainDisplay& operator=(const TrainDisplay&) = delete;

  /// Calls this display, which must outlive it.
  train::RunObserver observer();

 private:
  void show_progress(const train::RunProgress& progress);
  void show_epoch(const train::EpochReport& report);
  void print_line(const std::string& line);

  bool on_terminal_;
  bool painted_ = false;
  std::chrono::steady_clock::time_point last_paint_;
};

}  // namespace impart::cli

#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "cli/terminal/terminal.h"
#include "impart/core/progress.h"

namespace impart::cli {

/// Says on stderr what a long command is doing, once it has taken more than a second: on a terminal
/// a line that is painted over, elsewhere one plain line per phase and then one every ten seconds.
/// A thread of its own paints, so phases that report nothing show at least their name and time.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Starts a phase; what it returns may be told how far the phase has come.
  Progress phase(std::string name);
  /// The same for amounts that are bytes: shown as such, with their rate and the time left.
  Progress bytes_phase(std::string name);

 private:
  using Clock = std::chrono::steady_clock;

  void paint_until_done();
  void paint();
  Progress start_phase(std::string name, bool counts_bytes);
  std::string amount_text() const;

  const Clock::time_point start_ = Clock::now();
  const Terminal terminal_ = look_at_terminal();
  Painting painting_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::string phase_;
  std::string printed_phase_;
  Clock::time_point printed_at_;
  std::uint64_t amount_done_ = 0;
  std::uint64_t amount_total_ = 0;
  bool counts_bytes_ = false;
  std::uint64_t first_amount_ = 0;  ///< where the phase was when it first reported
  Clock::time_point first_report_;
  std::thread painter_;
};

}  // namespace impart::cli

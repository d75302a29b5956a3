#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "impart/store/ledger.h"

namespace impart::train {

/// Moments in the work of a device, which may come later than the host sets them.
class PhaseMarks {
 public:
  virtual ~PhaseMarks() = default;

  /// Sets a mark behind all work that was started so far.
  virtual void set() noexcept = 0;
  /// Seconds between each mark that was passed and the one before it, in their order, each told
  /// once. Does not wait.
  virtual std::vector<double> take_passed() = 0;
  /// Waits until all marks were passed.
  virtual void wait() = 0;
};

std::unique_ptr<PhaseMarks> make_host_marks();
/// On the stream that torch uses at the moment. Error where there is no CUDA.
std::unique_ptr<PhaseMarks> make_device_marks();

/// What PhaseClock measured over some time.
struct PhaseReading {
  store::PhaseSeconds seconds = {};
  double host_wait = 0;  ///< of these: the host did nothing but wait for the device
};

/// Charges every moment of a run to one phase: it sets a mark where one ends and the next begins.
/// On a GPU, where the host is ahead, the mark stands between the work of the two, so a phase is
/// charged what its work takes, not what the host takes to start it or to wait for it.
class PhaseClock {
 public:
  using Phase = double store::PhaseSeconds::*;

  /// Starts in the phase `other`.
  explicit PhaseClock(std::unique_ptr<PhaseMarks> marks);

  Phase phase() const { return phase_; }
  void enter(Phase phase);
  /// The same, for destructors.
  void enter_again(Phase phase) noexcept;
  /// What is under way since the last change turned out to be this.
  void rename(Phase phase) { phase_ = phase; }

  /// What passed since the last reading. Waits for the device, so it is for moments at which that
  /// has nothing left to do, such as the end of an epoch.
  PhaseReading read();

 private:
  using Clock = std::chrono::steady_clock;
  /// What was done until a mark, which the host set at that time.
  struct Stretch {
    Phase phase;
    Clock::time_point end;
  };

  void set_mark() noexcept;
  void charge_passed();

  std::unique_ptr<PhaseMarks> marks_;
  Phase phase_ = &store::PhaseSeconds::other;
  std::deque<Stretch> stretches_;  ///< whose ends the device may not have passed yet
  Clock::time_point charged_;      ///< when the host set the last mark that was passed
  double lead_ = 0;                ///< seconds by which the host was ahead there
  PhaseReading reading_;
};

/// Lets a clock charge a phase while it lives, then what was under way before.
class PhaseTimer {
 public:
  PhaseTimer(PhaseClock& clock, PhaseClock::Phase phase) : clock_(clock), before_(clock.phase()) {
    clock_.enter(phase);
  }
  ~PhaseTimer() { clock_.enter_again(before_); }
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;

 private:
  PhaseClock& clock_;
  PhaseClock::Phase before_;
};

}  // namespace impart::train

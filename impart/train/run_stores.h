#pragma once

#include "impart/placement/move_plan.h"
#include "impart/placement/partition.h"
#include "impart/train/costs/phase_clock.h"
#include "impart/train/run_data.h"

namespace impart::train {

/// Lets the stores of a run follow its partition; their time is that of exchanges. All calls are
/// collective: every process makes them, in the same order.
class RunStores {
 public:
  /// Both must outlive it.
  RunStores(RunData& data, PhaseClock& clock) : data_(data), clock_(clock) {}

  /// The first time, and after a restart, a store may hold anything.
  void settle(const placement::Partition& partition);
  bool settled() const { return settled_; }

  /// Begins to move what a settled store must give away; if it does not overlap with the epoch's
  /// first steps, ends it, too.
  void move(const placement::MovePlan& plan, bool overlap);
  void advance();
  void finish();

  /// Around the steps of an epoch, for stores that look ahead: see Store.
  void begin_epoch(const store::EpochReads& reads);
  void begin_step(std::uint32_t step) { data_.train_store->begin_step(step); }
  void end_epoch();

 private:
  RunData& data_;
  PhaseClock& clock_;
  bool settled_ = false;
};

}  // namespace impart::train

#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "impart/comm/communicator.h"
#include "impart/placement/placement.h"
#include "impart/run/gather_visits.h"
#include "impart/train/engine.h"
#include "impart/train/run.h"

namespace impart::train {

/// What the visits of an epoch came to.
struct VisitFacts {
  double train_loss = 0, train_accuracy = 0;
  std::uint64_t non_finite = 0;  ///< visits with a NaN or infinite signal
  std::uint64_t skipped = 0;     ///< examples that could not be read
  std::uint32_t first_step = 0;  ///< of the epoch that was run since the run began or went on
  std::vector<double> step_losses = {};  ///< means of the steps from there on; NaN: no visit
};

/// The visits of an epoch, whose signals are collected by the engines of all processes, on their
/// way to the importance table.
class EpochVisits {
 public:
  /// All must outlive it.
  EpochVisits(Engine& engine, feed::Feed& feed, comm::Communicator& communicator,
              const RunObserver& observer)
      : engine_(engine), feed_(feed), communicator_(communicator), observer_(observer) {}

  /// Steps of this plan are run from here on. It must live until the end of the epoch.
  void begin(const placement::StepPlan& plan, std::uint32_t first_step) {
    plan_ = &plan;
    first_step_ = first_step;
  }
  /// Visits of the epoch that were made before the run was interrupted.
  void restore(run::Visits earlier) { earlier_ = std::move(earlier); }

  /// All visits of the epoch before this step.
  /// Collective: every process calls it, in the same order.
  run::Visits gather(std::uint32_t last_step);
  /// Shows them to the table, at the end of the epoch.
  /// Collective: every process calls it, in the same order.
  void observe(importance::ImportanceTable& table, std::uint32_t epoch);

  /// Shows the table what a forward pass over these examples finds, in the same epoch.
  /// Collective: every process calls it, in the same order.
  void refresh(const placement::Parts& lists, importance::ImportanceTable& table,
               std::uint32_t epoch);

  /// Of the epoch that was observed last.
  const VisitFacts& facts() const { return facts_; }

 private:
  run::GatherVisitsSpec asked(const torch::Tensor& mine, std::uint32_t last_step) const;
  void gather_skipped();

  Engine& engine_;
  feed::Feed& feed_;
  comm::Communicator& communicator_;
  const RunObserver& observer_;
  const placement::StepPlan* plan_ = nullptr;
  std::uint32_t first_step_ = 0;
  run::Visits earlier_;
  std::vector<bool> skipped_;  ///< examples left out in this epoch; empty if there are none
  std::unordered_set<std::uint64_t> told_;  ///< examples that a user was told of, once
  VisitFacts facts_;
};

}  // namespace impart::train

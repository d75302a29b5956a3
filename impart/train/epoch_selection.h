#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "impart/config/config.h"
#include "impart/placement/placement.h"
#include "impart/placement/step_plan.h"
#include "impart/run/ledger_file.h"
#include "impart/run/summary.h"
#include "impart/train/run_data.h"

namespace impart::train {

/// What is visited in the epochs of a run, and what follows from it: the steps, the learning rate,
/// and the counts. Decisions are Placement's; of what is here, a checkpoint keeps times_hidden().
class EpochSelection {
 public:
  /// All must outlive it.
  EpochSelection(const config::RunConfig& config, const RunData& data,
                 placement::Placement& placement);

  /// Selects for an epoch, before which the run has made so many visits; again when it goes on.
  void begin(std::uint32_t epoch, std::uint64_t visits_before);

  /// The epoch's steps, and the weights of all examples; none: all are 1.
  const placement::StepPlan& plan() const { return *plan_; }
  std::span<const float> weights() const { return selected_->weights; }
  /// Of a step of the epoch.
  double learning_rate_at(std::uint32_t step) const;

  /// What the epoch hides and a forward pass at its end must look at; empty lists if none is asked
  /// for.
  placement::Parts to_refresh() const;

  /// After the epoch: counts it, and lets go for good what was hidden for good.
  run::VisitCosts end(run::RunSummary& summary);

  /// By example, in how many epochs of the run it was hidden. Empty without a selection.
  const std::vector<std::uint32_t>& times_hidden() const { return times_hidden_; }
  /// As it was at a checkpoint. Older ones have none: then it counts from there.
  void restore(std::vector<std::uint32_t> times_hidden);

 private:
  const config::RunConfig& config_;
  const RunData& data_;
  placement::Placement& placement_;
  std::optional<placement::Selected> selected_;
  std::unique_ptr<placement::StepPlan> plan_;
  placement::VisitCounts counts_;
  std::uint32_t epoch_ = 0;
  std::vector<std::uint32_t> times_hidden_;
  std::vector<double> visits_at_;  ///< of the run, before each step of the epoch
};

}  // namespace impart::train

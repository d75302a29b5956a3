#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "impart/cost/synthetic_importance.h"
#include "impart/placement/placement.h"

namespace impart::cost {

struct SimulatedPlacementSpec {
  std::uint64_t examples = 0;
  double drift = 0.3;  ///< of the importance, see SyntheticImportance
  std::uint32_t classes =
      10;  ///< for heuristics that look at classes; example i has class i mod classes
};

/// The placement of a run without the training: the real schedule, heuristics and exchanges, fed
/// with synthetic importance in place of the run's notion and of its inference losses.
class SimulatedPlacement {
 public:
  SimulatedPlacement(const placement::PlacementSpec& decisions, const SimulatedPlacementSpec& spec);

  /// What the schedule says for the start of an epoch, carried out; nothing if it says nothing.
  /// Epochs come in ascending order; any may be left out, and then did not happen.
  std::optional<placement::PlacementChange> prepare_epoch(std::uint32_t epoch);

  /// Whether an epoch starts with a forward pass over all examples to learn their importance.
  bool has_importance_pass(const placement::ScheduleEvent& event) const;

  const std::vector<placement::ScheduleEvent>& schedule() const { return schedule_; }
  const placement::Placement& placement() const { return placement_; }

 private:
  bool looks_at_table(placement::ScheduleEvent::Kind kind) const;

  placement::PlacementSpec decisions_;
  std::vector<placement::ScheduleEvent> schedule_;
  std::vector<ExampleId> ids_;
  SyntheticImportance importance_;
  placement::Placement placement_;
};

/// What is known of examples that nobody has: classes, if a decision looks at them. ConfigError if
/// one looks at a file.
placement::PlacementData make_placement_data(const placement::PlacementSpec& decisions,
                                             const SimulatedPlacementSpec& spec);

/// A run's decisions with what stands for its notion, "loss-last", whose importance is the number
/// that was last observed.
placement::PlacementSpec with_synthetic_importance(placement::PlacementSpec decisions);

}  // namespace impart::cost

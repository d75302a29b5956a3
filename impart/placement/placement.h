#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "impart/importance/importance_table.h"
#include "impart/placement/measures/mixing.h"
#include "impart/placement/ownership.h"
#include "impart/placement/partition.h"
#include "impart/placement/placement_spec.h"

namespace impart::placement {

/// Who owns which example over the epochs of a run, and the importance table that it is decided
/// from. No tensors, no processes: every process computes the same placement from the same signals.
class Placement {
 public:
  /// ConfigError if the spec's epochs contradict each other, or a notion needs what is not known.
  Placement(PlacementSpec spec, PlacementData data);

  /// Carries out what the schedule says for the start of this epoch; nothing if it says nothing.
  /// `inference_losses` is called if an exchange needs the current model's loss of every example.
  std::optional<PlacementChange> prepare_epoch(
      std::uint32_t epoch, const std::function<std::vector<float>()>& inference_losses);

  /// What every worker visits in this epoch of its part, and with which weight: see Ownership.
  Selected select(std::uint32_t epoch) const;
  /// By example, what the selection looks at; empty if at nothing.
  std::vector<float> selection_scores() const;
  void end_epoch(const Selected& selected) { ownership_.end_epoch(selected); }

  /// The order in which every worker visits its examples, or those that were selected.
  Parts order(std::uint32_t epoch) const { return ownership_.order(epoch); }
  Parts order(std::uint32_t epoch, Parts visits) const {
    return ownership_.order(epoch, std::move(visits));
  }

  const PlacementSpec& spec() const { return ownership_.spec(); }
  const Partition& partition() const { return ownership_.partition(); }
  importance::ImportanceTable& table() { return table_; }
  const importance::ImportanceTable& table() const { return table_; }

  /// How far the partition has come from the first one; none before epoch 0.
  const std::optional<Mixing>& mixing() const { return mixing_; }

  /// See Ownership; with the partition, the table and the mixing, all that a checkpoint has to
  /// keep.
  const std::vector<float>& dealt_by() const { return ownership_.dealt_by(); }
  const std::vector<ExampleId>& arrivals() const { return ownership_.arrivals(); }
  const std::vector<ExampleId>& gone() const { return ownership_.gone(); }
  /// Mixing that was not kept starts with the first partition and this one.
  void restore(Partition partition, importance::ImportanceTable table, std::vector<float> dealt_by,
               std::vector<ExampleId> arrivals, std::vector<ExampleId> gone = {},
               std::optional<Mixing> mixing = {});

 private:
  Ownership ownership_;
  importance::ImportanceTable table_;
  std::optional<Mixing> mixing_;
};

}  // namespace impart::placement

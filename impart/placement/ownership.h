#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include "impart/core/ids.h"
#include "impart/placement/exchanges.h"
#include "impart/placement/move_plan.h"
#include "impart/placement/partition.h"
#include "impart/placement/placement_spec.h"
#include "impart/placement/schedule.h"

namespace impart::placement {

/// Where decisions get the importance of every example from; asked only when one looks at it.
struct ImportanceSources {
  using Source = std::function<std::vector<float>()>;
  Source close_window = {};   ///< by the notion, for a heuristic: its window ends here
  Source notion = {};         ///< by the notion, in the window under way
  Source training_loss = {};  ///< at the last visit
  /// Of the current model. Doubles decide as doubles, whatever a change records of them.
  std::function<std::variant<std::vector<float>, std::vector<double>>()> inference_loss = {};
};

/// The same for selections, which must know what is not known: not finite.
struct SelectionSources {
  ImportanceSources::Source notion = {};                    ///< in the window under way
  ImportanceSources::Source training_loss = {};             ///< at the last visit
  std::function<std::vector<std::uint8_t>()> correct = {};  ///< whether the last visit was right
};

/// What happened to the partition before an epoch.
struct PlacementChange {
  ScheduleEvent::Kind kind = ScheduleEvent::Kind::kRandom;
  MovePlan plan = {};  ///< what has to move; nothing for a first partition
  std::uint64_t moved = 0;
  std::uint64_t messages = 0;
  double imbalance_cv = 0;  ///< by the importance that decided; 0 for random partitions
  double imbalance_ks = 0;
  double class_skew = 0;       ///< the largest of a worker; 0 if there are no classes
  double mean_class_skew = 0;  ///< over the workers
  double size_spread = 1;      ///< largest part over the mean
  double mixed = 0;            ///< share of the examples with another owner than at the start
  double seen = 0;             ///< mean share of the data that a worker has owned so far
  std::vector<float> importance = {};  ///< what decided; empty for random partitions
};

/// Who owns which example over the epochs of a run: the partition, the schedule that says when it
/// changes, and the order of visits that follows from it. It does not know how importance comes
/// about: Placement has a table for it, the Python package its trackers.
class Ownership {
 public:
  /// ConfigError if the spec's epochs contradict each other.
  Ownership(PlacementSpec spec, PlacementData data);

  /// Where what happens before this epoch gets importance from; kNone if it looks at none, or
  /// nothing happens.
  ImportanceSource looks_at(std::uint32_t epoch) const;

  /// Carries out what the schedule says for the start of this epoch; nothing if it says nothing.
  /// Imbalances and mixing are not measured: see `measure`, Placement. If a source or a function of
  /// the spec throws, all stays as it was.
  std::optional<PlacementChange> prepare_epoch(std::uint32_t epoch,
                                               const ImportanceSources& sources);
  /// Fills in the imbalances of the change that prepare_epoch has just made.
  void measure(PlacementChange& change) const;

  /// What every worker visits in this epoch of its part, and with which weight.
  Selected select(std::uint32_t epoch, const SelectionSources& sources) const;
  /// After an epoch: what its selection hid for good is gone.
  void end_epoch(const Selected& selected);

  /// The order in which every worker visits its examples, or those that were selected.
  Parts order(std::uint32_t epoch) const { return order(epoch, partition_.parts()); }
  Parts order(std::uint32_t epoch, Parts visits) const;

  const PlacementSpec& spec() const { return spec_; }
  const PlacementData& data() const { return data_; }
  const Partition& partition() const { return partition_; }
  /// The partition of epoch 0, whatever has become of it.
  Partition first_partition() const;

  /// The importance that the current partition was dealt by; empty if it is random. With the
  /// partition, the arrivals and what is gone, it is all that a checkpoint has to keep.
  const std::vector<float>& dealt_by() const { return dealt_by_; }
  /// The examples that moved before this epoch, if they are visited last.
  const std::vector<ExampleId>& arrivals() const { return arrivals_; }
  /// What is hidden for good.
  const std::vector<ExampleId>& gone() const { return gone_; }
  /// DataError if these are of other examples.
  void restore(Partition partition, std::vector<float> dealt_by, std::vector<ExampleId> arrivals,
               std::vector<ExampleId> gone = {});

 private:
  PlacementChange deal_randomly(std::uint32_t epoch);
  PlacementChange deal_by_heuristic(std::uint32_t epoch, const ImportanceSources& sources);
  Partition deal_remaining(std::span<const float> importance, PartitionSpec asked) const;
  Partition with_gone(Partition dealt) const;
  PlacementChange exchange(std::uint32_t epoch, const ImportanceSources& sources);
  PlacementChange replace(Partition next, ScheduleEvent::Kind kind, std::vector<float> importance);

  PlacementSpec spec_;
  PlacementData data_;
  ScheduleSpec schedule_;
  Partition partition_;
  std::vector<float> dealt_by_;
  std::vector<ExampleId> arrivals_;
  std::vector<ExampleId> gone_;
  bool has_partition_ = false;
};

}  // namespace impart::placement

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "impart/importance/importance_table.h"
#include "impart/placement/epoch_order.h"
#include "impart/placement/exchanges.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/move_plan.h"
#include "impart/placement/partition.h"
#include "impart/placement/schedule.h"

namespace impart::placement {

/// Which decisions a run makes, and when. Rows are values: those of the tables, or a program's own.
struct PlacementSpec {
  std::uint64_t seed = 0;
  std::uint32_t workers = 1;
  std::uint32_t epochs = 1;
  std::uint32_t warmup = 0;    ///< epochs at the start, each with a new random partition
  std::uint32_t interval = 1;  ///< epochs between two repartitionings; 0: never again
  HeuristicEntry heuristic = kHeuristics[0];
  bool sticky = false;  ///< move as few examples as the heuristic allows
  std::optional<ExchangeEntry> exchange = {};
  double fraction = 0.1;       ///< share of its part that a worker gives away in an exchange
  bool arrivals_last = false;  ///< visit what has just moved after what stayed
  importance::NotionEntry notion = importance::kNotions[0];  ///< what the heuristic ranks by
  std::vector<importance::NotionEntry> record = {};          ///< further notions to measure
  std::uint32_t ignore = 0;  ///< first epochs whose signals do not count
  importance::WindowKind window = importance::WindowKind::kInterval;
  bool history = false;  ///< keep every loss of every epoch
  ShuffleKind shuffle = ShuffleKind::kPerWorker;
};

/// When these decisions are made.
ScheduleSpec schedule_spec(const PlacementSpec& spec);

/// The notions whose state is kept: the one that decides, those to be recorded, and what the
/// exchange looks at. None twice.
std::vector<importance::NotionEntry> tracked_notions(const PlacementSpec& spec);

/// What is known of the data set that decisions may look at.
struct PlacementData {
  std::uint64_t examples = 0;
  std::vector<std::uint32_t> labels = {};
  std::vector<float> truth = {};  ///< empty if the data set does not know
};

/// What happened to the partition before an epoch.
struct PlacementChange {
  ScheduleEvent::Kind kind = ScheduleEvent::Kind::kRandom;
  MovePlan plan = {};  ///< what has to move; nothing for a first partition
  std::uint64_t moved = 0;
  std::uint64_t messages = 0;
  double imbalance_cv = 0;  ///< by the importance that decided; 0 for random partitions
  double imbalance_ks = 0;
  double class_skew = 0;
  std::vector<float> importance = {};  ///< what decided; empty for random partitions
};

/// Who owns which example over the epochs of a run: the partition, the importance table that it is
/// decided from, and the schedule that says when. No tensors, no processes: every process computes
/// the same placement from the same signals.
class Placement {
 public:
  /// ConfigError if the spec's epochs contradict each other, or a notion needs what is not known.
  Placement(PlacementSpec spec, PlacementData data);

  /// Carries out what the schedule says for the start of this epoch; nothing if it says nothing.
  /// `inference_losses` is called if an exchange needs the current model's loss of every example.
  std::optional<PlacementChange> prepare_epoch(
      std::uint32_t epoch, const std::function<std::vector<float>()>& inference_losses);

  /// The order in which every worker visits its examples.
  Parts order(std::uint32_t epoch) const;

  const PlacementSpec& spec() const { return spec_; }
  const Partition& partition() const { return partition_; }
  importance::ImportanceTable& table() { return table_; }
  const importance::ImportanceTable& table() const { return table_; }

  /// The importance that the current partition was dealt by; empty if it is random. With the
  /// partition, the table and the arrivals, it is all that a checkpoint has to keep.
  const std::vector<float>& dealt_by() const { return dealt_by_; }
  /// The examples that moved before this epoch, if they are visited last.
  const std::vector<ExampleId>& arrivals() const { return arrivals_; }
  void restore(Partition partition, importance::ImportanceTable table, std::vector<float> dealt_by,
               std::vector<ExampleId> arrivals);

 private:
  PlacementChange deal_randomly(std::uint32_t epoch);
  PlacementChange deal_by_heuristic(std::uint32_t epoch);
  PlacementChange exchange(std::uint32_t epoch,
                           const std::function<std::vector<float>()>& inference_losses);
  PlacementChange replace(Partition next, ScheduleEvent::Kind kind, std::vector<float> importance);

  PlacementSpec spec_;
  PlacementData data_;
  std::vector<ScheduleEvent> schedule_;
  importance::ImportanceTable table_;
  Partition partition_;
  std::vector<float> dealt_by_;
  std::vector<ExampleId> arrivals_;
  bool has_partition_ = false;
};

}  // namespace impart::placement

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "impart/importance/importance_table.h"
#include "impart/partition/move_plan.h"
#include "impart/partition/partition.h"
#include "impart/partition/schedule.h"
#include "impart/train/config.h"
#include "impart/train/own_rows.h"

namespace impart {

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
  Placement(const RunConfig& config, PlacementData data, OwnRows own = {});

  /// Carries out what the schedule says for the start of this epoch; nothing if it says nothing.
  /// `inference_losses` is called if an exchange needs the current model's loss of every example.
  std::optional<PlacementChange> prepare_epoch(
      std::uint32_t epoch, const std::function<std::vector<float>()>& inference_losses);

  /// The order in which every worker visits its examples.
  Parts order(std::uint32_t epoch) const;

  const Partition& partition() const { return partition_; }
  ImportanceTable& table() { return table_; }
  const ImportanceTable& table() const { return table_; }

  /// The importance that the current partition was dealt by; empty if it is random. With the
  /// partition, the table and the arrivals, it is all that a checkpoint has to keep.
  const std::vector<float>& dealt_by() const { return dealt_by_; }
  /// The examples that moved before this epoch, if they are visited last.
  const std::vector<ExampleId>& arrivals() const { return arrivals_; }
  void restore(Partition partition, ImportanceTable table, std::vector<float> dealt_by,
               std::vector<ExampleId> arrivals);

 private:
  PlacementChange deal_randomly(std::uint32_t epoch);
  PlacementChange deal_by_heuristic(std::uint32_t epoch);
  PlacementChange exchange(std::uint32_t epoch,
                           const std::function<std::vector<float>()>& inference_losses);
  PlacementChange replace(Partition next, ScheduleEvent::Kind kind, std::vector<float> importance);

  RunConfig config_;
  OwnRows own_;
  PlacementData data_;
  std::vector<ScheduleEvent> schedule_;
  ImportanceTable table_;
  Partition partition_;
  std::vector<float> dealt_by_;
  std::vector<ExampleId> arrivals_;
  bool has_partition_ = false;
};

/// The notions whose state a run keeps: the one that decides, those to be recorded, and what its
/// exchange looks at.
std::vector<NotionEntry> notions_of(const RunConfig& config, const OwnRows& own = {});

}  // namespace impart

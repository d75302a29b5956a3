#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "impart/importance/importance_table.h"
#include "impart/importance/notions.h"
#include "impart/placement/epoch_order.h"
#include "impart/placement/exchanges.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/schedule.h"
#include "impart/placement/selections.h"
#include "impart/placement/starts.h"

namespace impart::placement {

/// Which decisions a run makes, and when. Rows are values: those of the tables, or any functions.
struct PlacementSpec {
  std::uint64_t seed = 0;
  std::uint32_t workers = 1;
  /// Nothing if nobody knows: intervals then follow each other for ever.
  std::optional<std::uint32_t> epochs = 1;
  AnyStart start = kStarts[0];         ///< who owns what in epoch 0
  double alpha = 0.5;                  ///< of the start; see StartSpec
  PartSizes sizes = PartSizes::kFree;  ///< the same
  std::uint32_t warmup = 0;            ///< epochs at the start, each with a new random partition
  /// Whether they deal anew when the start is not random, too; otherwise they keep it.
  bool warmup_shuffle = false;
  std::uint32_t interval = 1;  ///< epochs between two repartitionings; 0: never again
  AnyHeuristic heuristic = kHeuristics[0];
  double strength = 0.5;  ///< of the heuristic; see PartitionSpec
  bool sticky = false;    ///< move as few examples as the heuristic allows
  std::optional<AnyExchange> exchange = {};
  double fraction = 0.1;       ///< share of its part that a worker gives away in an exchange
  bool arrivals_last = false;  ///< visit what has just moved after what stayed
  AnySelection selection = kSelections[0];
  SelectionSpec selecting = {};  ///< its numbers; seed and epochs are those of this spec
  importance::AnyNotion notion = importance::kNotions[0];  ///< what the heuristic ranks by
  std::vector<importance::AnyNotion> record = {};          ///< further notions to measure
  std::uint32_t ignore = 0;  ///< first epochs whose signals do not count
  importance::WindowKind window = importance::WindowKind::kInterval;
  bool history = false;  ///< keep every loss of every epoch
  ShuffleKind shuffle = ShuffleKind::kPerWorker;
};

/// The notion behind ImportanceSource::kTrainingLoss.
inline constexpr std::string_view kLaggingLoss = "loss-last";

/// When these decisions are made.
ScheduleSpec schedule_spec(const PlacementSpec& spec);

/// The notions whose state is kept: the one that decides, those to be recorded, and what the
/// exchange and the selection look at. None twice.
std::vector<importance::AnyNotion> tracked_notions(const PlacementSpec& spec);

/// What a table keeps besides what its notions need.
importance::StateSet kept_state(const PlacementSpec& spec);

/// What is known of the data set that decisions may look at.
struct PlacementData {
  std::uint64_t examples = 0;
  std::vector<std::uint32_t> labels = {};
  std::vector<float> truth = {};        ///< empty if the data set does not know
  std::optional<Partition> start = {};  ///< what the file of the start holds
};

}  // namespace impart::placement

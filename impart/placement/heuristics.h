#pragma once

#include <cstdint>
#include <span>

#include "impart/core/named_table.h"
#include "impart/core/scores.h"
#include "impart/placement/partition.h"

namespace impart::placement {

/// What a heuristic is asked for, besides the importance.
struct PartitionSpec {
  std::uint32_t workers = 1;
  std::uint64_t seed = 0;  ///< `random` draws from the stream (seed, "partition", epoch)
  std::uint32_t epoch = 0;
  /// Class of each example, for `class-stripes`.
  std::span<const std::uint32_t> labels = {};
  /// Sticky: among the partitions that have the heuristic's property, one that moves few examples
  /// away from their owner in this partition. It may have another number of workers.
  const Partition* sticky_to = nullptr;
  /// `graded-blocks`: how much importance counts against chance. 0: nothing, 1: only it does.
  /// Chance is the stream (seed, "graded-blocks", epoch).
  double strength = 0.5;
};

/// Gives every example to exactly one worker; sizes differ by at most 1. Pure: equal inputs, equal
/// partition. ConfigError if the spec cannot be met.
using Heuristic = Partition(const Scores& importance, const PartitionSpec& spec);

Heuristic shuffle_evenly, deal_in_stripes, cut_into_blocks, deal_in_snake, deal_balanced,
    deal_classes_in_stripes, cut_into_graded_blocks;

/// A heuristic and what it looks at: a row of kHeuristics, or any function.
struct AnyHeuristic : AnyEntry<Heuristic> {
  bool uses_importance = true;
  bool uses_labels = false;
};

/// A row of kHeuristics.
struct HeuristicEntry : Entry<Heuristic> {
  bool uses_importance = true;
  bool uses_labels = false;

  operator AnyHeuristic() const {  // NOLINT: a row converts
    return {{std::string(name), std::string(summary), function}, uses_importance, uses_labels};
  }
};

inline constexpr HeuristicEntry kHeuristics[] = {
    {{"random", "shuffle and deal, ignore importance (vanilla training)", shuffle_evenly}, false},
    {{"stripes", "rank by importance, deal round-robin: the same mix for all", deal_in_stripes}},
    {{"blocks", "rank by importance, cut into equal runs: worker 0 has the hardest",
      cut_into_blocks}},
    {{"snake", "stripes, every second row right to left: nearly equal sums", deal_in_snake}},
    {{"balanced", "in each row of the ranking, the hardest to the worker with the least",
      deal_balanced}},
    {{"class-stripes", "stripes inside each class: the same mix of classes, too",
      deal_classes_in_stripes},
     true,
     true},
    {{"graded-blocks", "blocks by importance and chance: strength 0 is random, 1 is blocks",
      cut_into_graded_blocks}},
};
static_assert(names_are_unique(kHeuristics));

/// ConfigError if there are no workers, or labels or the partition to stick to are for another
/// number of examples. Every heuristic calls it first.
void check_spec(const Scores& importance, const PartitionSpec& spec);

}  // namespace impart::placement

#pragma once

#include <cstdint>

#include "impart/core/scores.h"
#include "impart/placement/partition.h"

namespace impart::placement {

enum class ShuffleKind {
  /// Every worker shuffles its part on its own: stream (seed, "order", epoch, worker).
  kPerWorker,
  /// All workers move position k of their part to the same place: one permutation from the stream
  /// (seed, "order", epoch). What the 2023 prototype does by giving all workers the same seed.
  kShared,
};

/// How the examples of an epoch are put in order.
struct EpochOrderSpec {
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  ShuffleKind shuffle = ShuffleKind::kPerWorker;
  /// For kShared: position k of a part is its k-th most important example, as a heuristic dealt it
  /// out; without importance, its example with the k-th smallest id.
  Scores importance = {};
};

/// The order in which every worker visits its examples in an epoch: its part, each example once.
Parts order_epoch(const Partition& partition, const EpochOrderSpec& spec);
/// The same for chosen visits, ids ascending in each list; an example may occur more than once.
Parts order_visits(Parts visits, const EpochOrderSpec& spec);

}  // namespace impart::placement

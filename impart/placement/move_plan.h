#pragma once

#include <cstdint>
#include <vector>

#include "impart/core/ids.h"
#include "impart/placement/partition.h"

namespace impart::placement {

/// One example changes its owner.
struct Move {
  ExampleId example;
  WorkerId from;
  WorkerId to;
  bool operator==(const Move&) const = default;
};

/// The difference between two partitions of the same examples: what has to travel, sorted by
/// (from, to, example), so that what goes from one worker to another is one run.
struct MovePlan {
  std::vector<Move> moves;

  /// Distinct (from, to) pairs that carry anything.
  std::uint64_t messages() const;
};

/// ConfigError if they are partitions of different numbers of examples. Linear in time.
MovePlan diff(const Partition& before, const Partition& after);

}  // namespace impart::placement

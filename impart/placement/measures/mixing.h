#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "impart/placement/partition.h"

namespace impart::placement {

/// How far the partitions of a run have come from its first one, and how much of the data a worker
/// has had so far. One bit for each worker and example, at most kMostBits: of larger runs every
/// k-th example stands for its neighbours.
class Mixing {
 public:
  static constexpr std::uint64_t kMostBits = std::uint64_t{1} << 26;

  explicit Mixing(const Partition& start);
  /// As it was saved: `start()` and `bits()`. DataError if these do not fit together.
  Mixing(const Partition& start, std::vector<std::uint8_t> bits);

  /// Notes who owns what from now on.
  void note(const Partition& partition);

  /// Which share of the examples has another owner than at the start.
  double moved(const Partition& partition) const;
  /// Which share of the data a worker has owned so far, the mean over the workers.
  double seen() const;

  const Partition& start() const { return start_; }
  std::span<const std::uint8_t> bits() const { return bits_; }

 private:
  std::uint64_t noted_examples() const { return (start_.examples() + stride_ - 1) / stride_; }

  Partition start_;
  std::uint64_t stride_;
  std::vector<std::uint8_t> bits_;
  std::uint64_t owned_ = 0;  ///< bits that are set
};

}  // namespace impart::placement

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "impart/core/scores.h"
#include "impart/placement/partition.h"

namespace impart::placement {

/// How differently the workers of a partition are treated. NaN and infinities count as FiniteScores
/// has them; workers without examples have no mean and are left out of all three measures.
struct Imbalance {
  std::vector<std::uint64_t> sizes;  ///< per worker
  std::vector<double> sums;          ///< of importance, per worker
  /// Coefficient of variation (population) of the workers' mean importance: their standard
  /// deviation over the size of their mean. 0 if they are all equal; NaN if they differ around a
  /// mean of 0.
  double cv = 0;
  /// Largest Kolmogorov–Smirnov distance between a worker's distribution of importance and that of
  /// all examples.
  double ks = 0;
};

Imbalance measure_imbalance(const Partition& partition, const Scores& importance);

/// Total-variation distances between a worker's mix of classes and that of all examples, 0..1, over
/// the workers that have examples.
struct ClassSkew {
  double largest = 0;
  double mean = 0;
  /// What the mean would be, about, if parts of these sizes were dealt at random: a small part is
  /// never an exact picture of the whole.
  double mean_by_chance = 0;
};

ClassSkew measure_classes(const Partition& partition, std::span<const std::uint32_t> labels);

/// The largest of them.
double measure_class_skew(const Partition& partition, std::span<const std::uint32_t> labels);

/// The largest part over the mean: 1 if all are equal, and if there are no examples.
double measure_size_spread(const Partition& partition);

}  // namespace impart::placement

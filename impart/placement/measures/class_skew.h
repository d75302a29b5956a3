#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "impart/placement/partition.h"

namespace impart::placement {

/// Of each worker that has examples, in their order, the total-variation distance between its mix
/// of classes and that of all examples: half the sum over classes of |its share - the share|. 0 if
/// the mixes are equal, near 1 if it has one of many classes. ConfigError if there is not one label
/// for each example.
std::vector<double> class_distances(const Partition& partition,
                                    std::span<const std::uint32_t> labels);

/// Class skew: the mean of these distances over workers.
double mean_class_skew(const Partition& partition, std::span<const std::uint32_t> labels);

/// What it is on average, about, if parts of these sizes are dealt at random: small parts are
/// skewed by chance alone.
double expected_class_skew(const Partition& partition, std::span<const std::uint32_t> labels);

/// Parts are called skewed where class skew is above what chance makes of it by more than this.
inline constexpr double kNotableClassSkew = 0.3;

}  // namespace impart::placement

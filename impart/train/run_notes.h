#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "impart/placement/partition.h"

namespace impart::train {

/// What a run tells whoever watches it: sentences, and whether there is reason for them.

/// The mean class skew of parts that are notably skewed; nothing if they are not, or there are no
/// classes.
struct SkewedParts {
  double skew = 0, by_chance = 0;
};
std::optional<SkewedParts> find_skew(const placement::Partition& partition,
                                     std::span<const std::uint32_t> labels);
/// For workers that normalise with their own batches: many do not know what it costs.
std::string describe_skewed_norms(std::uint32_t epoch, const SkewedParts& parts);

std::string describe_divergence(std::uint32_t epoch, double loss);

/// Of a run that was computed with so many threads and goes on with others.
std::string describe_threads(int before, int now);

}  // namespace impart::train

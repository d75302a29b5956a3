#pragma once

#include <cstdint>
#include <optional>

#include "impart/comm/communicator.h"
#include "impart/feed/feed.h"
#include "impart/models/classifier.h"
#include "impart/placement/partition.h"

namespace impart::train {

/// Examples of a worker that its gradient is measured on, at most.
inline constexpr std::uint64_t kGradientSample = 256;

/// Of every part so many examples, or all if it has fewer: drawn anew for every epoch, the same for
/// every number of processes.
placement::Parts draw_samples(const placement::Partition& partition, std::uint64_t seed,
                              std::uint32_t epoch);

/// How much the gradients of workers differ: the mean over workers of |g_k - g|² / |g|², where g_k
/// is the gradient of the mean loss of worker k's list and g the mean of these gradients; 0 if all
/// are equal. Under the current model in evaluation mode, without augmentation, label smoothing and
/// weights of examples. Workers without examples do not count; nothing if g is 0 or not finite.
///
/// Memory: two gradients in double. On the wire: one gradient in double, all-reduced.
/// Collective: every process calls it, in the same order.
std::optional<double> measure_dissimilarity(models::Classifier& model, feed::Feed& feed,
                                            const placement::Parts& lists,
                                            comm::Communicator& communicator);

}  // namespace impart::train

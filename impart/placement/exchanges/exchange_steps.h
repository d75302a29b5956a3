#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "impart/core/ids.h"
#include "impart/core/random.h"
#include "impart/placement/exchanges.h"

namespace impart::placement {

/// The steps that exchanges are put together from.

/// How many examples each worker offers: ⌊Q·s + carry⌋ for its part's size s, where the carry is
/// what rounding left over from the earlier exchanges. Parts that differ by at most 1 all offer as
/// many as the smallest. ConfigError if Q is not in [0, 1] or there are not as many scores as
/// examples.
std::vector<std::uint64_t> examples_to_give(const Partition& current, const Scores& importance,
                                            const ExchangeSpec& spec);

/// What a worker chooses from: the stream (seed, "exchange", epoch, worker).
RandomStream choosing_stream(const ExchangeSpec& spec, WorkerId worker);

/// What each worker offers, in the order in which it is sent.
using Chosen = std::vector<std::vector<ExampleId>>;

/// So many of each part, without replacement: all alike, or the important ones likelier.
Chosen choose_uniformly(const Parts& parts, std::span<const std::uint64_t> counts,
                        const ExchangeSpec& spec);
Chosen choose_by_importance(const Parts& parts, const Scores& importance,
                            std::span<const std::uint64_t> counts, const ExchangeSpec& spec);

/// The j-th chosen example of every worker that offers so many moves along a random permutation of
/// these workers.
Partition send_along_permutations(const Partition& current, const Chosen& chosen,
                                  const ExchangeSpec& spec);

/// The worker with the largest key with the one with the smallest, the second with the last but
/// one, and so on; ties by worker. Who offers nothing has no partner, nor has the middle one if the
/// number of the others is odd.
std::vector<std::pair<WorkerId, WorkerId>> pair_extremes(std::span<const double> keys,
                                                         std::span<const std::uint64_t> offers);

}  // namespace impart::placement

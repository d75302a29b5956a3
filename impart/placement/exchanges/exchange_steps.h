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

/// How many examples each worker gives: ⌊Q·s + carry⌋ for the smallest part's size s, where the
/// carry is what rounding left over from the earlier exchanges. ConfigError if Q is not in [0, 1]
/// or there are not as many scores as examples.
std::uint64_t examples_to_give(const Partition& current, const Scores& importance,
                               const ExchangeSpec& spec);

/// What a worker chooses from: the stream (seed, "exchange", epoch, worker).
RandomStream choosing_stream(const ExchangeSpec& spec, WorkerId worker);

/// What each worker gives, `count` examples per worker, in the order in which they are sent.
using Chosen = std::vector<std::vector<ExampleId>>;

/// `count` of each part, without replacement: all alike, or the important ones likelier.
Chosen choose_uniformly(const Parts& parts, std::uint64_t count, const ExchangeSpec& spec);
Chosen choose_by_importance(const Parts& parts, const Scores& importance, std::uint64_t count,
                            const ExchangeSpec& spec);

/// The j-th chosen example of every worker moves along a random permutation of the workers.
Partition send_along_permutations(const Partition& current, const Chosen& chosen,
                                  const ExchangeSpec& spec);

/// The worker with the largest key with the one with the smallest, the second with the last but
/// one, and so on; ties by worker. If their number is odd, the middle one has no partner.
std::vector<std::pair<WorkerId, WorkerId>> pair_extremes(std::span<const double> keys);

}  // namespace impart::placement

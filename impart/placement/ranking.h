#pragma once

#include <functional>
#include <span>
#include <vector>

#include "impart/core/ids.h"
#include "impart/core/scores.h"

namespace impart::placement {

/// The ranking that every heuristic stands on: importance descending, ties by id ascending, NaN and
/// infinities as FiniteScores has them. It is a total order, so it is the same on every process.

/// Calls `visit` with run after run of ids, which together are all examples in ranking order.
///
/// A radix sort: one scatter by the leading bits of the keys into buckets that fit the cache, then
/// each bucket by its remaining bits. Extra memory for floats: 8 bytes per example, plus 8 bytes
/// per example of the largest bucket; twice that for doubles and beyond 2^32 examples.
void visit_by_importance(Scores importance,
                         const std::function<void(std::span<const ExampleId>)>& visit);

/// All ids in ranking order.
std::vector<ExampleId> rank_by_importance(Scores importance);

}  // namespace impart::placement

#pragma once

#include <span>

#include "impart/core/ids.h"
#include "impart/core/named_table.h"

namespace impart::store {

/// What a place in a cache is worth to an example; what is worth more stays, what is worth nothing
/// is not taken in. `expected_visits` is by example, of an epoch to come; empty: one each. Pure.
using CacheWorth = float(ExampleId id, std::span<const float> expected_visits);

CacheWorth worth_the_same, worth_its_visits;

/// A row of kCachePolicies.
struct CachePolicyEntry : Entry<CacheWorth> {
  /// What is kept is decided before an epoch (CachePlan), so that every process can know it.
  bool is_planned = false;
  bool looks_at_visits = false;
};

inline constexpr CachePolicyEntry kCachePolicies[] = {
    {{"clock", "what was not used for longest goes first, roughly", worth_the_same}},
    {{"pin", "what was read first stays", worth_the_same}, true},
    {{"importance", "what the selection will visit most stays", worth_its_visits}, true, true},
};
static_assert(names_are_unique(kCachePolicies));

/// Where a cached example comes from when its owner changes.
enum class MoveFrom {
  kPeer,    ///< from the process that has it
  kSource,  ///< from the data set, as what nobody has
  kAuto,    ///< from whichever was measured to be faster
};

}  // namespace impart::store

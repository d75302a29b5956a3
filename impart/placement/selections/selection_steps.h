#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "impart/core/ids.h"
#include "impart/core/random.h"
#include "impart/placement/selections.h"

namespace impart::placement {

/// The steps that selections are put together from.

/// By example.
using Hidden = std::vector<bool>;

/// The parts without what is hidden.
Parts leave_out(const Parts& parts, const Hidden& hidden);

/// What a worker draws from: the stream (seed, "selection", epoch, worker).
RandomStream selecting_stream(const SelectionSpec& spec, WorkerId worker);

/// Hides `count` of these, all alike; their order changes.
void hide_some(std::span<ExampleId> ids, std::uint64_t count, RandomStream& random, Hidden& hidden);

/// So many visits that no worker has to leave out more than it wanted to, and steps are whole, with
/// spec.multiple; `wanted` are the visits that each would make. 0: all make what they want.
std::uint64_t common_visits(std::span<const std::uint64_t> wanted, const SelectionSpec& spec);

/// How many of a part of this size are hidden where `count` would be, if all make `common` visits.
std::uint64_t hidden_for(std::uint64_t common, std::uint64_t part, std::uint64_t count);

/// Shows again what is hidden beyond that in each part. `first(ids, count)` has those of `ids` that
/// stay hidden.
template <class First>
void show_for_steps(const Parts& parts, const SelectionSpec& spec, Hidden& hidden, First&& first) {
  if (spec.multiple <= 1) return;
  std::vector<std::vector<ExampleId>> all(parts.workers());
  std::vector<std::uint64_t> wanted;
  for (std::uint32_t worker = 0; worker < parts.workers(); ++worker) {
    for (const ExampleId id : parts.of(WorkerId{worker})) {
      if (hidden[index(id)]) all[worker].push_back(id);
      hidden[index(id)] = false;
    }
    wanted.push_back(parts.of(WorkerId{worker}).size() - all[worker].size());
  }
  const std::uint64_t common = common_visits(wanted, spec);
  for (std::uint32_t worker = 0; worker < parts.workers(); ++worker) {
    const std::uint64_t part = parts.of(WorkerId{worker}).size();
    for (const ExampleId id : first(all[worker], hidden_for(common, part, all[worker].size()))) {
      hidden[index(id)] = true;
    }
  }
}

inline bool is_known(float score) {
  return std::isfinite(score);
}

/// Those of which something is known.
std::vector<ExampleId> known_of(std::span<const ExampleId> ids, std::span<const float> scores);

/// The `count` with the lowest scores, or all if there are fewer; ties by id. All scores are
/// finite, ids ascend. Linear in time.
std::vector<ExampleId> lowest(std::span<const ExampleId> ids, std::span<const float> scores,
                              std::uint64_t count);
/// The same for the highest.
std::vector<ExampleId> highest(std::span<const ExampleId> ids, std::span<const float> scores,
                               std::uint64_t count);

/// The mean of finite scores, never beyond the smallest and the largest, whatever rounding does; 0
/// if there are none.
double mean_of(std::span<const ExampleId> ids, std::span<const float> scores);

/// All ids of the parts, ascending. Linear in time.
std::vector<ExampleId> ids_of(const Parts& parts);

/// Calls f(ids) for each part, or once for all of them together, as the scope says.
template <class Function>
void for_each_pool(const Parts& parts, SelectionScope scope, Function&& f) {
  if (scope == SelectionScope::kAll) {
    const std::vector<ExampleId> all = ids_of(parts);
    return f(std::span<const ExampleId>(all));
  }
  for (std::uint32_t worker = 0; worker < parts.workers(); ++worker) {
    f(parts.of(WorkerId{worker}));
  }
}

/// What turns importance into something that can be a probability: the smallest becomes 0 if it is
/// below.
double shift_to_positive(std::span<const float> scores);

}  // namespace impart::placement

#include <algorithm>
#include <cmath>

#include "impart/placement/carry.h"
#include "impart/placement/selections/selection_steps.h"

namespace impart::placement {
namespace {

/// The share that is visited: from `start` to 1.
double visited_share(const SelectionSpec& spec) {
  if (spec.epoch >= spec.ramp) return 1;
  const double done = static_cast<double>(spec.epoch) / spec.ramp;
  if (spec.growth == CurriculumGrowth::kLinear) return spec.start + (1 - spec.start) * done;
  const double square = spec.start * spec.start;
  return std::sqrt(square + (1 - square) * done);
}

}  // namespace

Selected begin_with_easy(const SelectionInput& input, const SelectionSpec& spec) {
  Hidden hidden(input.examples);
  for_each_pool(input.parts, spec.scope, [&](std::span<const ExampleId> pool) {
    const std::uint64_t count = share_with_carry(1 - visited_share(spec), pool.size(), spec.epoch);
    for (const ExampleId id : highest(known_of(pool, input.scores), input.scores, count)) {
      hidden[index(id)] = true;
    }
  });
  show_for_steps(input.parts, spec, hidden, [&](const auto& ids, std::uint64_t count) {
    return highest(ids, input.scores, count);
  });
  return {.visits = leave_out(input.parts, hidden)};
}

}  // namespace impart::placement

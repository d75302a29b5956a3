#include <algorithm>
#include <cmath>

#include "impart/placement/carry.h"
#include "impart/placement/selections/selection_steps.h"

namespace impart::placement {

// It decides once; from then on whoever asks says what is gone.
Selected prune_for_good(const SelectionInput& input, const SelectionSpec& spec) {
  if (spec.epoch != spec.after) return visit_all(input, spec);
  Hidden hidden(input.examples);
  std::vector<ExampleId> gone;
  const auto worst = spec.prune == PruneSide::kEasiest ? lowest : highest;
  for_each_pool(input.parts, spec.scope, [&](std::span<const ExampleId> pool) {
    const std::uint64_t count = share_with_carry(spec.share, pool.size(), 0);
    for (const ExampleId id : worst(known_of(pool, input.scores), input.scores, count)) {
      hidden[index(id)] = true;
      gone.push_back(id);
    }
  });
  std::sort(gone.begin(), gone.end());
  return {.visits = leave_out(input.parts, hidden), .gone = std::move(gone)};
}

}  // namespace impart::placement

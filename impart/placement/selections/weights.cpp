#include "impart/placement/selections/selection_steps.h"

namespace impart::placement {

Selected weight_by_importance(const SelectionInput& input, const SelectionSpec& spec) {
  const auto& scores = input.scores;
  const double added = shift_to_positive(scores) + spec.epsilon;
  std::vector<float> weights(input.examples, 1.0f);  // of what is unknown, too: the mean
  for_each_pool(input.parts, spec.scope, [&](std::span<const ExampleId> pool) {
    const std::vector<ExampleId> known = known_of(pool, scores);
    const double mean = mean_of(known, scores) + added;
    if (!(mean > 0)) return;
    for (const ExampleId id : known) {
      weights[index(id)] = static_cast<float>((double{scores[index(id)]} + added) / mean);
    }
  });
  return {.visits = input.parts, .weights = std::move(weights)};
}

}  // namespace impart::placement

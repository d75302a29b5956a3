#include <algorithm>

#include "impart/placement/carry.h"
#include "impart/placement/selections/selection_steps.h"

namespace impart::placement {

Selected hide_randomly(const SelectionInput& input, const SelectionSpec& spec) {
  Hidden hidden(input.examples);
  std::vector<float> weights(input.examples, 1.0f);
  for (std::uint32_t worker = 0; worker < input.parts.workers(); ++worker) {
    const auto part = input.parts.of(WorkerId{worker});
    if (part.empty()) continue;
    const std::uint64_t count =
        std::min<std::uint64_t>(share_with_carry(spec.share, part.size(), spec.epoch),
                                part.size() - 1);  // somebody must stand for the hidden ones
    const auto size = static_cast<double>(part.size());
    const auto weight = static_cast<float>(size / (size - static_cast<double>(count)));
    for (const ExampleId id : part) weights[index(id)] = weight;
    std::vector<ExampleId> pool(part.begin(), part.end());
    RandomStream random = selecting_stream(spec, WorkerId{worker});
    hide_some(pool, count, random, hidden);
  }
  return {.visits = leave_out(input.parts, hidden), .weights = std::move(weights)};
}

}  // namespace impart::placement

#include <algorithm>

#include "impart/placement/carry.h"
#include "impart/placement/selections/selection_steps.h"

namespace impart::placement {

Selected hide_randomly(const SelectionInput& input, const SelectionSpec& spec) {
  std::vector<std::uint64_t> counts, wanted;
  for (std::uint32_t worker = 0; worker < input.parts.workers(); ++worker) {
    const std::uint64_t size = input.parts.of(WorkerId{worker}).size();
    counts.push_back(std::min(share_with_carry(spec.share, size, spec.epoch),
                              size - (size > 0 ? 1 : 0)));  // somebody must stand for the hidden
    wanted.push_back(size - counts.back());
  }
  const std::uint64_t common = common_visits(wanted, spec);
  Hidden hidden(input.examples);
  std::vector<float> weights(input.examples, 1.0f);
  for (std::uint32_t worker = 0; worker < input.parts.workers(); ++worker) {
    const auto part = input.parts.of(WorkerId{worker});
    const std::uint64_t count = hidden_for(common, part.size(), counts[worker]);
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

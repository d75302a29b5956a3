#include "impart/placement/exchanges/exchange_steps.h"

namespace impart::placement {

Chosen choose_uniformly(const Parts& parts, std::span<const std::uint64_t> counts,
                        const ExchangeSpec& spec) {
  Chosen chosen(parts.workers());
  for (std::uint32_t worker = 0; worker < parts.workers(); ++worker) {
    RandomStream random = choosing_stream(spec, WorkerId{worker});
    const auto part = parts.of(WorkerId{worker});
    std::vector<ExampleId> pool(part.begin(), part.end());
    for (std::uint64_t slot = 0; slot < counts[worker]; ++slot) {
      std::swap(pool[slot], pool[slot + random.below(pool.size() - slot)]);
    }
    pool.resize(counts[worker]);
    chosen[worker] = std::move(pool);
  }
  return chosen;
}

Partition exchange_uniformly(const Partition& current, const Scores& importance,
                             const ExchangeSpec& spec) {
  const auto counts = examples_to_give(current, importance, spec);
  return send_along_permutations(current, choose_uniformly(current.parts(), counts, spec), spec);
}

}  // namespace impart::placement

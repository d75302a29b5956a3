#include <algorithm>
#include <limits>

#include "impart/placement/exchanges/exchange_steps.h"

namespace impart::placement {

Partition exchange_in_pairs(const Partition& current, const Scores& importance,
                            const ExchangeSpec& spec) {
  const auto counts = examples_to_give(current, importance, spec);
  const FiniteScores finite(importance);
  const Chosen chosen = choose_by_importance(current.parts(), finite.view(), counts, spec);

  std::vector<double> largest(current.workers(), -std::numeric_limits<double>::infinity());
  for (std::uint64_t i = 0; i < current.examples(); ++i) {
    double& worker_largest = largest[index(current.owner(ExampleId{i}))];
    worker_largest = std::max(worker_largest, finite.view()[ExampleId{i}]);
  }
  std::vector<WorkerId> owners(current.owners().begin(), current.owners().end());
  for (const auto& [a, b] : pair_extremes(largest, counts)) {
    const std::uint64_t swaps = std::min(counts[index(a)], counts[index(b)]);
    for (std::uint64_t i = 0; i < swaps; ++i) {
      owners[index(chosen[index(a)][i])] = b;
      owners[index(chosen[index(b)][i])] = a;
    }
  }
  return {std::move(owners), current.workers()};
}

}  // namespace impart::placement

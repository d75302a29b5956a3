#include <algorithm>
#include <limits>

#include "impart/placement/exchanges/exchange_steps.h"

namespace impart::placement {

Partition exchange_in_pairs(const Partition& current, const Scores& importance,
                            const ExchangeSpec& spec) {
  const std::uint64_t count = examples_to_give(current, importance, spec);
  const FiniteScores finite(importance);
  const Chosen chosen = choose_by_importance(current.parts(), finite.view(), count, spec);

  std::vector<double> largest(current.workers(), -std::numeric_limits<double>::infinity());
  for (std::uint64_t i = 0; i < current.examples(); ++i) {
    double& worker_largest = largest[index(current.owner(ExampleId{i}))];
    worker_largest = std::max(worker_largest, finite.view()[ExampleId{i}]);
  }
  std::vector<WorkerId> owners(current.owners().begin(), current.owners().end());
  for (const auto& [a, b] : pair_extremes(largest)) {
    for (const ExampleId example : chosen[index(a)]) owners[index(example)] = b;
    for (const ExampleId example : chosen[index(b)]) owners[index(example)] = a;
  }
  return {std::move(owners), current.workers()};
}

}  // namespace impart::placement

#include <algorithm>
#include <vector>

#include "impart/placement/heuristics.h"
#include "impart/placement/ranking.h"
#include "impart/placement/rows.h"

namespace impart::placement {

Partition deal_balanced(const Scores& importance, const PartitionSpec& spec) {
  check_spec(importance, spec);
  const FiniteScores finite(importance);
  const Scores& scores = finite.view();
  std::vector<double> sums(spec.workers);
  const auto by_sum = [&](WorkerId a, WorkerId b) {
    return sums[index(a)] != sums[index(b)] ? sums[index(a)] < sums[index(b)] : a < b;
  };
  RowDealer dealer(
      scores.size(), spec,
      [&](std::uint64_t, std::vector<WorkerId>& workers) {
        std::sort(workers.begin(), workers.end(), by_sum);
      },
      [&](ExampleId example, WorkerId worker) { sums[index(worker)] += scores[example]; });
  visit_by_importance(scores, [&](std::span<const ExampleId> run) { dealer.deal(run); });
  return dealer.finish();
}

}  // namespace impart::placement

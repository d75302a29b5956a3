#include <algorithm>

#include "impart/placement/heuristics.h"
#include "impart/placement/ranking.h"
#include "impart/placement/rows.h"

namespace impart::placement {

Partition deal_in_snake(const Scores& importance, const PartitionSpec& spec) {
  check_spec(importance, spec);
  RowDealer dealer(importance.size(), spec, [](std::uint64_t row, std::vector<WorkerId>& workers) {
    if (row % 2 == 1) std::reverse(workers.begin(), workers.end());
  });
  visit_by_importance(importance, [&](std::span<const ExampleId> run) { dealer.deal(run); });
  return dealer.finish();
}

}  // namespace impart::placement

#include <algorithm>

#include "impart/partition/heuristics.h"
#include "impart/partition/ranking.h"
#include "impart/partition/rows.h"

namespace impart {

Partition deal_in_snake(const Scores& importance, const PartitionSpec& spec) {
  check_spec(importance, spec);
  RowDealer dealer(importance.size(), spec, [](std::uint64_t row, std::vector<WorkerId>& workers) {
    if (row % 2 == 1) std::reverse(workers.begin(), workers.end());
  });
  visit_by_importance(importance, [&](std::span<const ExampleId> run) { dealer.deal(run); });
  return dealer.finish();
}

}  // namespace impart

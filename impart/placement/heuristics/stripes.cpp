#include "impart/placement/heuristics.h"
#include "impart/placement/ranking.h"
#include "impart/placement/rows.h"

namespace impart::placement {
namespace {

/// What RowDealer gives when nobody keeps anything, without looking at rows.
Partition deal_round_robin(const Scores& importance, std::uint32_t workers) {
  std::vector<WorkerId> owners(importance.size());
  std::uint32_t worker = 0;
  visit_by_importance(importance, [&](std::span<const ExampleId> run) {
    for (const ExampleId id : run) {
      owners[index(id)] = WorkerId{worker};
      if (++worker == workers) worker = 0;
    }
  });
  return {std::move(owners), workers};
}

}  // namespace

Partition deal_in_stripes(const Scores& importance, const PartitionSpec& spec) {
  check_spec(importance, spec);
  if (spec.sticky_to == nullptr) return deal_round_robin(importance, spec.workers);
  RowDealer dealer(importance.size(), spec);
  visit_by_importance(importance, [&](std::span<const ExampleId> run) { dealer.deal(run); });
  return dealer.finish();
}

}  // namespace impart::placement

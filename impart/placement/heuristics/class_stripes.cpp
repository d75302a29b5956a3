#include <numeric>
#include <vector>

#include "impart/core/error.h"
#include "impart/placement/classes.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/ranking.h"
#include "impart/placement/rows.h"

namespace impart::placement {

Partition deal_classes_in_stripes(const Scores& importance, const PartitionSpec& spec) {
  check_spec(importance, spec);
  if (spec.labels.size() != importance.size()) {
    throw ConfigError("class-stripes needs the label of every example");
  }
  const Classes classes = number_classes(spec.labels);
  std::vector<std::uint64_t> next(classes.count + 1);
  for (const std::uint32_t c : classes.of_example) ++next[c + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());

  // The ranking, class after class: a stable counting sort.
  std::vector<ExampleId> order(importance.size());
  visit_by_importance(importance, [&](std::span<const ExampleId> run) {
    for (const ExampleId id : run) order[next[classes.of_example[index(id)]]++] = id;
  });
  RowDealer dealer(importance.size(), spec);
  dealer.deal(order);
  return dealer.finish();
}

}  // namespace impart::placement

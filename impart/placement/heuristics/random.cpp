#include "impart/core/random.h"

#include <numeric>

#include "impart/placement/heuristics.h"

namespace impart::placement {
namespace {

/// The owners when shuffled ids are dealt round-robin. Index holds every id.
template <class Index>
std::vector<WorkerId> deal_shuffled(std::uint64_t examples, const PartitionSpec& spec) {
  std::vector<Index> ids(examples);
  std::iota(ids.begin(), ids.end(), Index{0});
  RandomStream random({.seed = spec.seed, .purpose = Purpose("partition"), .epoch = spec.epoch});
  shuffle(std::span(ids), random);
  std::vector<WorkerId> owners(examples);
  std::uint32_t worker = 0;
  for (const Index id : ids) {
    owners[id] = WorkerId{worker};
    if (++worker == spec.workers) worker = 0;
  }
  return owners;
}

}  // namespace

// Random has no property that a partition could keep while moving less, so it is never sticky: the
// reshuffling itself is what it is for.
Partition shuffle_evenly(const Scores& importance, const PartitionSpec& spec) {
  check_spec(importance, spec);
  const std::uint64_t examples = importance.size();
  return {std::in_range<std::uint32_t>(examples) ? deal_shuffled<std::uint32_t>(examples, spec)
                                                 : deal_shuffled<std::uint64_t>(examples, spec),
          spec.workers};
}

}  // namespace impart::placement

#include "impart/placement/epoch_order.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/placement/ranking.h"

namespace impart::placement {
namespace {

Parts order_per_worker(const Partition& partition, const EpochOrderSpec& spec) {
  Parts parts = partition.parts();
  for (std::uint32_t worker = 0; worker < parts.workers(); ++worker) {
    RandomStream random({.seed = spec.seed,
                         .purpose = Purpose("order"),
                         .epoch = spec.epoch,
                         .worker = WorkerId{worker}});
    shuffle(parts.of(WorkerId{worker}), random);
  }
  return parts;
}

Parts parts_by_importance(const Partition& partition, const Scores& importance) {
  Parts parts(partition.sizes());
  std::vector<std::uint64_t> filled(partition.workers());
  visit_by_importance(importance, [&](std::span<const ExampleId> run) {
    for (const ExampleId id : run) {
      const WorkerId owner = partition.owner(id);
      parts.of(owner)[filled[index(owner)]++] = id;
    }
  });
  return parts;
}

Parts order_shared(const Partition& partition, const EpochOrderSpec& spec) {
  const Parts base =
      spec.importance.empty() ? partition.parts() : parts_by_importance(partition, spec.importance);
  const auto sizes = partition.sizes();
  // One permutation of the longest part's positions; a shorter part passes over those it lacks.
  std::vector<std::uint64_t> positions(*std::max_element(sizes.begin(), sizes.end()));
  std::iota(positions.begin(), positions.end(), std::uint64_t{0});
  RandomStream random({.seed = spec.seed, .purpose = Purpose("order"), .epoch = spec.epoch});
  shuffle(std::span(positions), random);
  Parts order(sizes);
  for (std::uint32_t worker = 0; worker < order.workers(); ++worker) {
    const auto from = base.of(WorkerId{worker});
    auto to = order.of(WorkerId{worker}).begin();
    for (const std::uint64_t position : positions) {
      if (position < from.size()) *to++ = from[position];
    }
  }
  return order;
}

}  // namespace

Parts order_epoch(const Partition& partition, const EpochOrderSpec& spec) {
  if (!spec.importance.empty() && spec.importance.size() != partition.examples()) {
    throw ConfigError(fmt::format("there are {} scores for {} examples", spec.importance.size(),
                                  partition.examples()));
  }
  return spec.shuffle == ShuffleKind::kShared ? order_shared(partition, spec)
                                              : order_per_worker(partition, spec);
}

}  // namespace impart::placement

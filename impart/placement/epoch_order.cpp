#include "impart/placement/epoch_order.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/placement/ranking.h"

namespace impart::placement {
namespace {

Parts order_per_worker(Parts visits, const EpochOrderSpec& spec) {
  for (std::uint32_t worker = 0; worker < visits.workers(); ++worker) {
    RandomStream random({.seed = spec.seed,
                         .purpose = Purpose("order"),
                         .epoch = spec.epoch,
                         .worker = WorkerId{worker}});
    shuffle(visits.of(WorkerId{worker}), random);
  }
  return visits;
}

std::vector<std::uint64_t> sizes_of(const Parts& parts) {
  std::vector<std::uint64_t> sizes;
  for (std::uint32_t worker = 0; worker < parts.workers(); ++worker) {
    sizes.push_back(parts.of(WorkerId{worker}).size());
  }
  return sizes;
}

/// Every worker's visits in the order of the ranking.
Parts rank_visits(const Parts& visits, const Scores& importance) {
  std::vector<WorkerId> visitor(importance.size());
  std::vector<std::uint32_t> times(importance.size());
  for (std::uint32_t worker = 0; worker < visits.workers(); ++worker) {
    for (const ExampleId id : visits.of(WorkerId{worker})) {
      visitor[index(id)] = WorkerId{worker};
      ++times[index(id)];
    }
  }
  Parts ranked(sizes_of(visits));
  std::vector<std::uint64_t> filled(visits.workers());
  visit_by_importance(importance, [&](std::span<const ExampleId> run) {
    for (const ExampleId id : run) {
      const WorkerId worker = visitor[index(id)];
      for (std::uint32_t time = 0; time < times[index(id)]; ++time) {
        ranked.of(worker)[filled[index(worker)]++] = id;
      }
    }
  });
  return ranked;
}

Parts order_shared(Parts visits, const EpochOrderSpec& spec) {
  const Parts base =
      spec.importance.empty() ? std::move(visits) : rank_visits(visits, spec.importance);
  const auto sizes = sizes_of(base);
  // One permutation of the longest list's positions; a shorter one passes over those it lacks.
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
  return order_visits(partition.parts(), spec);
}

Parts order_visits(Parts visits, const EpochOrderSpec& spec) {
  return spec.shuffle == ShuffleKind::kShared ? order_shared(std::move(visits), spec)
                                              : order_per_worker(std::move(visits), spec);
}

}  // namespace impart::placement

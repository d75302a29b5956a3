#include "impart/placement/selections/remaining.h"

#include <utility>

namespace impart::placement {

Remaining::Remaining(std::uint64_t examples, std::span<const ExampleId> gone)
    : examples_(examples) {
  ids_.reserve(examples - gone.size());
  std::size_t next = 0;
  for (std::uint64_t i = 0; i < examples; ++i) {
    if (next < gone.size() && index(gone[next]) == i) {
      ++next;
    } else {
      ids_.push_back(ExampleId{i});
    }
  }
}

Partition Remaining::of(const Partition& partition) const {
  return Partition(of(partition.owners()), partition.workers());
}

Partition Remaining::put_back(const Partition& dealt, const Partition& before) const {
  const auto owners = before.owners();
  std::vector<WorkerId> all(owners.begin(), owners.end());
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    all[index(ids_[i])] = dealt.owner(ExampleId{i});
  }
  return Partition(std::move(all), before.workers());
}

}  // namespace impart::placement

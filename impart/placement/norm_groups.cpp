#include "impart/placement/norm_groups.h"

#include <algorithm>

namespace impart::placement {

HostedWorkers NormGroups::members(std::uint32_t group) const {
  const std::uint32_t first = group * size;
  return {.first = first, .count = std::min(size, workers - first)};
}

std::uint32_t NormGroups::count_among(const HostedWorkers& hosted) const {
  return group_of(hosted.first + hosted.count - 1) - group_of(hosted.first) + 1;
}

bool NormGroups::is_cut(std::uint32_t group) const {
  const auto [first, count] = members(group);
  return hosting_process(WorkerId{first}, workers, processes) !=
         hosting_process(WorkerId{first + count - 1}, workers, processes);
}

bool NormGroups::are_cut() const {
  if (size == 1 || processes > workers) return false;
  for (std::uint32_t rank = 1; rank < processes; ++rank) {
    if (hosted_workers(workers, rank, processes).first % size != 0) return true;
  }
  return false;
}

}  // namespace impart::placement

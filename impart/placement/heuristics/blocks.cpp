#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "impart/placement/assignment.h"
#include "impart/placement/cuts.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/ranking.h"

namespace impart::placement {
namespace {

/// Which worker gets which block, so that as many examples as possible stay where they are.
std::vector<std::uint32_t> name_blocks(std::span<const WorkerId> blocks, const Partition& current,
                                       std::uint32_t workers) {
  std::vector<std::uint32_t> overlap(std::size_t{workers} * workers);
  for (std::uint64_t i = 0; i < blocks.size(); ++i) {
    const std::uint32_t owner = index(current.owner(ExampleId{i}));
    if (owner >= workers) continue;
    std::uint32_t& count = overlap[std::size_t{index(blocks[i])} * workers + owner];
    if (count != std::numeric_limits<std::uint32_t>::max()) ++count;
  }
  return assign_for_largest_sum(overlap, workers);
}

}  // namespace

Partition cut_into_blocks(const Scores& importance, const PartitionSpec& spec) {
  check_spec(importance, spec);
  std::vector<WorkerId> owners(importance.size());
  std::uint32_t worker = 0;
  std::uint64_t rank = 0;
  std::uint64_t next_start = cut_before(1, importance.size(), spec.workers);
  visit_by_importance(importance, [&](std::span<const ExampleId> run) {
    for (const ExampleId id : run) {
      while (rank == next_start) {  // a loop, since blocks are empty when N < n
        next_start = cut_before(++worker + 1, importance.size(), spec.workers);
      }
      owners[index(id)] = WorkerId{worker};
      ++rank;
    }
  });
  if (spec.sticky_to != nullptr) {
    const auto names = name_blocks(owners, *spec.sticky_to, spec.workers);
    for (WorkerId& owner : owners) owner = WorkerId{names[index(owner)]};
  }
  return {std::move(owners), spec.workers};
}

}  // namespace impart::placement

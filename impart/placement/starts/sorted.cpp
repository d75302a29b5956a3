// Starts that sort the examples and cut them into equal runs.

#include <algorithm>
#include <numeric>
#include <utility>

#include "impart/placement/cuts.h"
#include "impart/placement/starts.h"

namespace impart::placement {
namespace {

/// Worker w gets the ids from ⌊wN/n⌋ to before ⌊(w+1)N/n⌋ of the list.
Partition cut_evenly(std::span<const std::uint64_t> ids, std::uint32_t workers) {
  std::vector<WorkerId> owners(ids.size());
  for (std::uint32_t worker = 0; worker < workers; ++worker) {
    const std::uint64_t end = cut_before(worker + std::uint64_t{1}, ids.size(), workers);
    for (std::uint64_t i = cut_before(worker, ids.size(), workers); i < end; ++i) {
      owners[ids[i]] = WorkerId{worker};
    }
  }
  return {std::move(owners), workers};
}

std::vector<std::uint64_t> ids_in_order(std::uint64_t examples) {
  std::vector<std::uint64_t> ids(examples);
  std::iota(ids.begin(), ids.end(), std::uint64_t{0});
  return ids;
}

}  // namespace

Partition start_in_order(const StartSpec& spec) {
  check_start(spec);
  return cut_evenly(ids_in_order(spec.examples), spec.workers);
}

Partition start_by_class(const StartSpec& spec) {
  check_labelled_start(spec, "by-class");
  std::vector<std::uint64_t> ids = ids_in_order(spec.examples);
  std::stable_sort(ids.begin(), ids.end(), [&](std::uint64_t a, std::uint64_t b) {
    return spec.labels[a] < spec.labels[b];
  });
  return cut_evenly(ids, spec.workers);
}

}  // namespace impart::placement

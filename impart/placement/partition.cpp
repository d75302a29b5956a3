#include "impart/placement/partition.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "impart/core/column_file.h"
#include "impart/core/error.h"

namespace impart::placement {

Parts::Parts(std::span<const std::uint64_t> sizes) {
  starts_.reserve(sizes.size() + 1);
  std::uint64_t total = 0;
  for (const std::uint64_t size : sizes) {
    starts_.push_back(total);
    total += size;
  }
  starts_.push_back(total);
  ids_.resize(total);
}

Parts parts_of(std::span<const std::vector<ExampleId>> lists) {
  std::vector<std::uint64_t> sizes;
  for (const auto& list : lists) sizes.push_back(list.size());
  Parts parts(sizes);
  for (std::uint32_t worker = 0; worker < parts.workers(); ++worker) {
    std::copy(lists[worker].begin(), lists[worker].end(), parts.of(WorkerId{worker}).begin());
  }
  return parts;
}

void check_worker_count(std::uint32_t workers) {
  if (workers == 0) throw ConfigError("workers is 0; there must be at least 1");
  if (workers > kMostWorkers) {
    throw ConfigError(fmt::format("workers is {}; there can be at most {}", workers, kMostWorkers));
  }
}

Partition::Partition(std::vector<WorkerId> owners, std::uint32_t workers)
    : owners_(std::move(owners)), workers_(workers) {
  check_worker_count(workers);
  const auto stray = std::find_if(owners_.begin(), owners_.end(),
                                  [&](WorkerId owner) { return index(owner) >= workers; });
  if (stray != owners_.end()) {
    throw DataError(fmt::format("example {} belongs to worker {}, but there are only {} workers",
                                stray - owners_.begin(), index(*stray), workers));
  }
}

std::vector<std::uint64_t> Partition::sizes() const {
  std::vector<std::uint64_t> sizes(workers_);
  for (const WorkerId owner : owners_) ++sizes[index(owner)];
  return sizes;
}

Parts Partition::parts() const {
  Parts parts(sizes());
  std::vector<std::uint64_t> filled(workers_);
  for (std::uint64_t i = 0; i < owners_.size(); ++i) {
    const WorkerId owner = owners_[i];
    parts.of(owner)[filled[index(owner)]++] = ExampleId{i};
  }
  return parts;
}

Partition read_partition(const std::string& path, std::uint32_t workers, const Progress& progress) {
  const std::vector<std::uint32_t> numbers = read_integers(path, "worker", progress);
  if (workers == 0) {
    const auto largest = std::max_element(numbers.begin(), numbers.end());
    if (largest != numbers.end() && *largest >= kMostWorkers) {
      throw DataError(fmt::format("{}: example {} belongs to worker {}, but there can be only {}",
                                  path, largest - numbers.begin(), *largest, kMostWorkers));
    }
    workers = largest == numbers.end() ? 1 : *largest + 1;
  }
  const auto stray = std::find_if(numbers.begin(), numbers.end(),
                                  [&](std::uint32_t number) { return number >= workers; });
  if (stray != numbers.end()) {
    const auto example = static_cast<std::uint64_t>(stray - numbers.begin());
    throw DataError(
        fmt::format("{}: example {} belongs to worker {}, but there are only {} workers",
                    place_of_example(path, example), example, *stray, workers));
  }
  std::vector<WorkerId> owners(numbers.size());
  std::transform(numbers.begin(), numbers.end(), owners.begin(),
                 [](std::uint32_t number) { return WorkerId{number}; });
  return {std::move(owners), workers};
}

void write_partition(const std::string& path, const Partition& partition,
                     const Progress& progress) {
  std::vector<std::uint32_t> numbers(partition.examples());
  std::transform(partition.owners().begin(), partition.owners().end(), numbers.begin(),
                 [](WorkerId owner) { return index(owner); });
  write_integers(path, "worker", numbers, progress);
}

}  // namespace impart::placement

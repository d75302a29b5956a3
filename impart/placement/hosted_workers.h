#pragma once

#include <cstdint>

#include "impart/core/ids.h"

namespace impart::placement {

/// The workers that one process hosts: first .. first + count - 1.
struct HostedWorkers {
  std::uint32_t first = 0;
  std::uint32_t count = 0;

  bool contains(WorkerId worker) const { return index(worker) - first < count; }
};

/// Process `rank` of `size` hosts the workers ⌊rank·n/size⌋ .. ⌊(rank+1)·n/size⌋ - 1 of n: in the
/// order of ranks, each worker once, numbers that differ by at most 1. ConfigError if a process
/// would have none.
HostedWorkers hosted_workers(std::uint32_t workers, std::uint32_t rank, std::uint32_t size);

/// The rank of the process that hosts a worker. O(1).
std::uint32_t hosting_process(WorkerId worker, std::uint32_t workers, std::uint32_t size);

}  // namespace impart::placement

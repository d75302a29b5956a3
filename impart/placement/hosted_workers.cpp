#include "impart/placement/hosted_workers.h"

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::placement {

HostedWorkers hosted_workers(std::uint32_t workers, std::uint32_t rank, std::uint32_t size) {
  if (rank >= size) throw ConfigError(fmt::format("process {} of {}", rank, size));
  if (size > workers) {
    throw ConfigError(fmt::format(
        "{} processes for {} workers: every process hosts at least one worker", size, workers));
  }
  const std::uint64_t first = std::uint64_t{rank} * workers / size;
  const std::uint64_t end = (std::uint64_t{rank} + 1) * workers / size;
  return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(end - first)};
}

std::uint32_t hosting_process(WorkerId worker, std::uint32_t workers, std::uint32_t size) {
  if (index(worker) >= workers) {
    throw ConfigError(fmt::format("worker {} of {}", index(worker), workers));
  }
  // The largest rank with ⌊rank·n/size⌋ <= w, that is rank < (w+1)·size/n.
  const std::uint64_t rank = ((std::uint64_t{index(worker)} + 1) * size - 1) / workers;
  return static_cast<std::uint32_t>(rank);
}

}  // namespace impart::placement

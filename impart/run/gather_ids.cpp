#include "impart/run/gather_ids.h"

#include <cstdint>

namespace impart::run {

std::vector<ExampleId> gather_ids(std::span<const ExampleId> mine,
                                  comm::Communicator& communicator) {
  std::vector<std::int64_t> named(communicator.size());
  named[communicator.rank()] = static_cast<std::int64_t>(mine.size());
  communicator.all_reduce_sum(std::span<std::int64_t>(named));
  std::vector<std::size_t> bytes;
  std::size_t total = 0;
  for (const std::int64_t ids : named) {
    bytes.push_back(static_cast<std::size_t>(ids) * sizeof(ExampleId));
    total += static_cast<std::size_t>(ids);
  }
  std::vector<ExampleId> all(total);
  communicator.all_gather(std::as_bytes(mine), bytes, std::as_writable_bytes(std::span(all)));
  return all;
}

}  // namespace impart::run

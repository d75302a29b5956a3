#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "impart/store/ledger.h"

namespace impart::store {

/// What the reads of one worker came to since they were last taken. Threads add to it.
struct ReadCounts {
  std::atomic<std::uint64_t> bytes_source = 0, bytes_local = 0, bytes_written = 0, bytes_peers = 0;
  std::atomic<std::uint64_t> hits = 0, hits_disk = 0, hits_peers = 0, misses = 0;
};

inline std::vector<StorageCost> take_counts(std::vector<ReadCounts>& workers) {
  std::vector<StorageCost> costs;
  for (ReadCounts& counts : workers) {
    costs.push_back({.bytes_source = counts.bytes_source.exchange(0),
                     .bytes_local = counts.bytes_local.exchange(0),
                     .bytes_written = counts.bytes_written.exchange(0),
                     .cache_hits = counts.hits.exchange(0),
                     .cache_misses = counts.misses.exchange(0),
                     .cache_hits_disk = counts.hits_disk.exchange(0),
                     .cache_hits_peers = counts.hits_peers.exchange(0),
                     .bytes_peers = counts.bytes_peers.exchange(0)});
  }
  return costs;
}

}  // namespace impart::store

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "impart/core/ids.h"

namespace impart::store {

/// Payloads in memory that stay until they are dropped. Thread-safe; one lock per shard of the ids.
class KeptPayloads {
 public:
  /// Copies the payload if it is here.
  bool look_up(ExampleId id, std::vector<std::byte>& payload) const;
  bool holds(ExampleId id) const;
  void keep(ExampleId id, std::span<const std::byte> payload);
  void drop(ExampleId id);

 private:
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<ExampleId, std::vector<std::byte>> payloads;
  };
  Shard& shard_of(ExampleId id) { return shards_[index(id) % shards_.size()]; }
  const Shard& shard_of(ExampleId id) const { return shards_[index(id) % shards_.size()]; }

  std::array<Shard, 16> shards_;
};

}  // namespace impart::store

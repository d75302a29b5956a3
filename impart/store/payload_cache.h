#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "impart/core/ids.h"

namespace impart::store {

/// Payloads that were read before, at most so many bytes of them. What was not looked up since the
/// hand of the clock last passed goes first. Thread-safe; one lock per shard of the ids.
class PayloadCache {
 public:
  explicit PayloadCache(std::uint64_t bytes);

  /// Copies the payload if it is here.
  bool look_up(ExampleId id, std::vector<std::byte>& payload);
  /// Whether look_up() would find it; that is no use of it.
  bool holds(ExampleId id) const;
  /// Keeps a copy, unless it is larger than a shard: a sixteenth of the cache, or all of one below
  /// 16 MiB.
  void keep(ExampleId id, std::span<const std::byte> payload);

  /// Payload bytes held now.
  std::uint64_t bytes() const;

 private:
  struct Slot {
    ExampleId id{};
    std::vector<std::byte> payload;
    bool used = false;  ///< since the hand passed
    bool taken = false;
  };
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<ExampleId, std::size_t> slot_of;
    std::vector<Slot> slots;
    std::vector<std::size_t> free_slots;
    std::size_t hand = 0;
    std::uint64_t bytes = 0;
  };

  const Shard& shard_of(ExampleId id) const { return shards_[index(id) % shards_.size()]; }
  Shard& shard_of(ExampleId id) { return shards_[index(id) % shards_.size()]; }
  static void evict_one(Shard& shard);

  std::vector<Shard> shards_;
  std::uint64_t shard_bytes_;
};

}  // namespace impart::store

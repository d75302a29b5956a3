#include "impart/store/payload_cache.h"

#include <utility>

namespace impart::store {
namespace {

constexpr std::size_t kShards = 16;
constexpr std::uint64_t kWorthShards = std::uint64_t{16} << 20;

}  // namespace

PayloadCache::PayloadCache(std::uint64_t bytes)
    : shards_(bytes >= kWorthShards ? kShards : 1), shard_bytes_(bytes / shards_.size()) {}

bool PayloadCache::look_up(ExampleId id, std::vector<std::byte>& payload) {
  Shard& shard = shard_of(id);
  const std::lock_guard lock(shard.mutex);
  const auto at = shard.slot_of.find(id);
  if (at == shard.slot_of.end()) return false;
  Slot& slot = shard.slots[at->second];
  slot.used = true;
  payload = slot.payload;
  return true;
}

bool PayloadCache::holds(ExampleId id) const {
  const Shard& shard = shard_of(id);
  const std::lock_guard lock(shard.mutex);
  return shard.slot_of.contains(id);
}

void PayloadCache::keep(ExampleId id, std::span<const std::byte> payload) {
  if (payload.size() > shard_bytes_) return;
  Shard& shard = shard_of(id);
  const std::lock_guard lock(shard.mutex);
  if (shard.slot_of.contains(id)) return;
  while (shard.bytes + payload.size() > shard_bytes_) evict_one(shard);
  if (shard.free_slots.empty()) {
    shard.free_slots.push_back(shard.slots.size());
    shard.slots.emplace_back();
  }
  const std::size_t free = shard.free_slots.back();
  shard.free_slots.pop_back();
  shard.slots[free] = {id, {payload.begin(), payload.end()}, false, true};
  shard.slot_of.emplace(id, free);
  shard.bytes += payload.size();
}

/// There is a payload to evict, or the shard would be empty and fit anything.
void PayloadCache::evict_one(Shard& shard) {
  while (true) {
    const std::size_t at = shard.hand;
    shard.hand = (at + 1) % shard.slots.size();
    Slot& slot = shard.slots[at];
    if (!slot.taken || std::exchange(slot.used, false)) continue;
    shard.bytes -= slot.payload.size();
    shard.slot_of.erase(slot.id);
    shard.free_slots.push_back(at);
    slot = {};
    return;
  }
}

std::uint64_t PayloadCache::bytes() const {
  std::uint64_t bytes = 0;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    bytes += shard.bytes;
  }
  return bytes;
}

}  // namespace impart::store

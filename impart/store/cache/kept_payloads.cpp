#include "impart/store/cache/kept_payloads.h"

namespace impart::store {

bool KeptPayloads::look_up(ExampleId id, std::vector<std::byte>& payload) const {
  const Shard& shard = shard_of(id);
  const std::lock_guard lock(shard.mutex);
  const auto at = shard.payloads.find(id);
  if (at == shard.payloads.end()) return false;
  payload = at->second;
  return true;
}

bool KeptPayloads::holds(ExampleId id) const {
  const Shard& shard = shard_of(id);
  const std::lock_guard lock(shard.mutex);
  return shard.payloads.contains(id);
}

void KeptPayloads::keep(ExampleId id, std::span<const std::byte> payload) {
  Shard& shard = shard_of(id);
  const std::lock_guard lock(shard.mutex);
  shard.payloads.try_emplace(id, payload.begin(), payload.end());
}

void KeptPayloads::drop(ExampleId id) {
  Shard& shard = shard_of(id);
  const std::lock_guard lock(shard.mutex);
  shard.payloads.erase(id);
}

}  // namespace impart::store

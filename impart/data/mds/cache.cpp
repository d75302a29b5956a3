#include "impart/data/mds/cache.h"

#include <algorithm>
#include <utility>

#include "impart/data/mds/shard.h"

namespace impart::data {

MdsShardCache::MdsShardCache(std::uint64_t most_bytes)
    : MdsShardCache(most_bytes,
                    [](const MdsIndex& index, const MdsShard& shard, std::uint64_t& bytes) {
                      auto loaded = load_mds_shard(index.folder, shard, bytes);
                      const std::string path = index.folder + '/' + shard.raw.name;
                      check_mds_hashes(path, shard.raw, loaded, true);
                      return loaded;
                    }) {}

std::shared_ptr<MdsShardCache::Slot> MdsShardCache::slot_of(const MdsShard& entry,
                                                            std::size_t shard) {
  std::list<std::shared_ptr<Slot>> dropped;  // freed outside the lock
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(used_.begin(), used_.end(),
                                  [&](const auto& slot) { return slot->shard == shard; });
  if (found != used_.end()) {
    used_.splice(used_.begin(), used_, found);
    return used_.front();
  }
  while (!used_.empty() && bytes_ + entry.raw.bytes > most_bytes_) {
    bytes_ -= used_.back()->size;
    dropped.splice(dropped.end(), used_, std::prev(used_.end()));
  }
  bytes_ += entry.raw.bytes;
  auto slot = std::make_shared<Slot>();
  slot->shard = shard;
  slot->size = entry.raw.bytes;
  used_.push_front(slot);
  return slot;
}

MdsShardCache::Bytes MdsShardCache::get(const MdsIndex& index, std::size_t shard,
                                        std::uint64_t& bytes_from_disk) {
  const MdsShard& entry = index.shards[shard];
  const std::shared_ptr<Slot> slot = slot_of(entry, shard);
  const std::lock_guard lock(slot->loading);
  if (slot->contents != nullptr) return slot->contents;
  // A failure leaves the slot empty: the next one who asks tries again, and gets the same message.
  auto loaded = load_(index, entry, bytes_from_disk);
  slot->contents = std::make_shared<const std::vector<std::byte>>(std::move(loaded));
  return slot->contents;
}

std::uint64_t MdsShardCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace impart::data

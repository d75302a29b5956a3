#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "impart/data/mds/index.h"

namespace impart::data {

/// Uncompressed shards that were used last, up to a number of bytes (but at least one). A shard
/// that several threads ask for at once is loaded once; different ones are loaded at the same time.
class MdsShardCache {
 public:
  /// Gives an uncompressed shard whose fast hashes were checked; `bytes` grows by what that read.
  using Load = std::function<std::vector<std::byte>(const MdsIndex& index, const MdsShard& shard,
                                                    std::uint64_t& bytes)>;

  /// Loads shards from the folder of their index.
  explicit MdsShardCache(std::uint64_t most_bytes);
  MdsShardCache(std::uint64_t most_bytes, Load load)
      : most_bytes_(most_bytes), load_(std::move(load)) {}

  using Bytes = std::shared_ptr<const std::vector<std::byte>>;

  /// The uncompressed shard. `bytes_from_disk` grows by what this call read: 0 if it was there.
  /// What loading throws is thrown to all who wait for it, and the next one tries again.
  Bytes get(const MdsIndex& index, std::size_t shard, std::uint64_t& bytes_from_disk);

  /// Of all that are kept.
  std::uint64_t bytes() const;

 private:
  struct Slot {
    std::size_t shard;
    std::uint64_t size;
    std::mutex loading;
    Bytes contents;
  };

  std::shared_ptr<Slot> slot_of(const MdsShard& entry, std::size_t shard);

  const std::uint64_t most_bytes_;
  const Load load_;
  mutable std::mutex mutex_;
  std::list<std::shared_ptr<Slot>> used_;  ///< the last used first; few, so searched in order
  std::uint64_t bytes_ = 0;
};

}  // namespace impart::data

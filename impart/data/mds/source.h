#pragma once

#include <memory>

#include "impart/data/mds/samples.h"
#include "impart/data/mds/shard.h"

namespace impart::data {

struct MdsSourceSpec {
  std::string folder;       ///< that holds index.json
  std::uint64_t limit = 0;  ///< only the first so many samples; 0 = all
  /// How many bytes of uncompressed shards are kept for random access to compressed ones. One shard
  /// is kept even if it is larger, and every thread that is reading may hold one more.
  std::uint64_t cache_bytes = std::uint64_t{512} << 20;
  std::uint32_t open_files = 256;  ///< that are kept open at most, besides those being read
};

class MdsShardCache;

/// The samples of a folder of MDS shards.
///
/// Opening reads the front of every shard and checks all offsets; 4 bytes per sample stay in
/// memory. A read from an uncompressed shard is one pread of just the sample. Random access to
/// compressed shards is expensive: unless the shard is among the cached ones, all of it is read and
/// uncompressed for one sample. Compress what is read in order; or give the cache room for all.
class MdsSource final : public MdsSamples {
 public:
  /// DataError if index.json or the front of a shard is missing, damaged, or contradicts the other.
  explicit MdsSource(const MdsSourceSpec& spec);
  ~MdsSource() override;

  std::uint64_t examples() const override { return first_.back(); }
  std::uint64_t payload_bytes(ExampleId id) const override;
  std::uint64_t read(ExampleId id, std::span<std::byte> payload) const override;
  std::string describe(ExampleId id) const override;

  /// Reads all samples from the first to the last in blocks of 1 MiB, about as fast as the files
  /// can be read at all; compressed ones are uncompressed on the way, and not cached. Needs a block
  /// and twice the largest sample of memory. Returns the bytes that came from disk. DataError as
  /// read().
  std::uint64_t read_in_order(const MdsVisitor& visit,
                              const Progress& progress = {}) const override;

  const MdsIndex& index() const override { return index_; }

 private:
  struct Place {
    std::size_t shard;
    std::uint64_t sample;  ///< in the shard
    std::uint32_t start, end;
  };
  Place find(ExampleId id) const;
  std::span<const std::uint32_t> offsets_of(std::size_t shard) const;
  void read_raw(const Place& place, std::span<std::byte> payload) const;

  MdsIndex index_;
  std::vector<std::uint64_t> first_;    ///< number of the first sample of each shard; the total
  std::vector<std::uint32_t> offsets_;  ///< of all shards; of shard s from first_[s] + s on
  std::vector<bool> zipped_;            ///< of each shard: whether only the compressed file exists
  std::uint32_t largest_sample_ = 0;    ///< in bytes
  mutable OpenFiles open_files_;
  std::unique_ptr<MdsShardCache> cache_;
};

}  // namespace impart::data

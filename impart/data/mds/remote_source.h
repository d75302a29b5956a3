#pragma once

#include <memory>
#include <string>
#include <vector>

#include "impart/data/mds/samples.h"
#include "impart/data/mds/sidecars.h"
#include "impart/data/remote/object_reader.h"

namespace impart::data {

/// What describes a folder of shards on a server.
struct RemoteMds {
  MdsIndex index;
  MdsSidecars sidecars;
};

/// Fetches index.json and the sidecars that are there. Errors as of ListedFiles, and of reading
/// such files.
RemoteMds fetch_mds_files(ObjectReader& reader);

struct RemoteMdsSpec {
  std::shared_ptr<ObjectReader> reader;
  MdsIndex index;
  std::vector<std::uint32_t> sums = {};  ///< of all samples (payload_sum); empty: not known
  std::uint64_t limit = 0;               ///< only the first so many samples; 0 = all
  std::uint64_t cache_bytes = std::uint64_t{512}
                              << 20;  ///< of uncompressed shards, as in MdsSource
  std::uint64_t gap = 1024;           ///< as in RemoteRangesSpec
};

class MdsShardCache;

/// The samples of MDS shards on a server.
///
/// Opening fetches the front of every shard, and checks sizes and offsets. Uncompressed shards are
/// read sample by sample, neighbours in one request; a sample is checked where its sum is known. Of
/// compressed ones the whole file is fetched, checked by the hashes of the index, and kept
/// uncompressed, as MdsSource does.
class RemoteMdsSource final : public MdsSamples {
 public:
  explicit RemoteMdsSource(RemoteMdsSpec spec);
  ~RemoteMdsSource() override;

  const MdsIndex& index() const override { return spec_.index; }
  std::uint64_t examples() const override { return ranges_->examples(); }
  std::uint64_t payload_bytes(ExampleId id) const override { return ranges_->payload_bytes(id); }
  std::uint64_t read(ExampleId id, std::span<std::byte> payload) const override;
  std::uint64_t read_all(std::span<const PayloadWish> wishes) const override;
  bool is_remote() const override { return true; }
  std::uint64_t requests() const override { return spec_.reader->requests(); }
  std::string describe(ExampleId id) const override;

  /// A shard at a time, whole, each checked by its hashes.
  std::uint64_t read_in_order(const MdsVisitor& visit,
                              const Progress& progress = {}) const override;

 private:
  std::size_t shard_of(ExampleId id) const;
  bool is_zipped(std::size_t shard) const { return spec_.index.shards[shard].zip.has_value(); }
  std::vector<std::vector<std::byte>> fetch_fronts(std::size_t shards) const;
  std::vector<std::byte> load(const MdsShard& shard, std::uint64_t& bytes) const;

  RemoteMdsSpec spec_;
  std::vector<std::uint64_t> first_;   ///< number of the first sample of each shard; the total
  std::vector<std::uint64_t> starts_;  ///< of all samples, in their shards
  std::shared_ptr<const PayloadSource> ranges_;  ///< all samples, as if no shard were compressed
  std::unique_ptr<MdsShardCache> cache_;
};

}  // namespace impart::data

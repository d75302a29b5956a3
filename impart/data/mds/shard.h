#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "impart/data/mds/index.h"
#include "impart/data/payloads/open_files.h"

namespace impart::data {

/// How many bytes the number of samples and their offsets take at the front of a shard.
constexpr std::uint64_t mds_head_bytes(std::uint64_t samples) {
  return 4 + 4 * (samples + 1);
}

/// Where the samples of a shard start, and where the last one ends.
using MdsOffsets = std::vector<std::uint32_t>;

/// Reads the offsets out of the front of a shard. Each way in which they contradict the index or
/// each other is told to `complain`, with the byte where it stands: a reader throws, a verifier
/// goes on. Without a complaint every sample lies in the shard and has at least `least_sample`
/// bytes, and nothing is left over.
using MdsComplaint = std::function<void(std::uint64_t offset, const std::string& what)>;
MdsOffsets parse_mds_offsets(std::span<const std::byte> head, const MdsShard& shard,
                             std::uint64_t least_sample, const MdsComplaint& complain);

/// The same for a reader: DataError names the shard and the byte.
MdsOffsets check_mds_offsets(std::span<const std::byte> head, const MdsIndex& index,
                             std::size_t shard);

/// The file of a shard that is there: the raw one, else the compressed one.
struct MdsShardFile {
  std::string path;
  const MdsFile* entry;  ///< points into the shard
  bool zipped = false;
};
/// DataError if it is missing, or compressed in a way that is not known.
MdsShardFile find_mds_file(const std::string& folder, const MdsShard& shard);

/// Reads a shard from its front, uncompressed on the way.
class MdsShardStream {
 public:
  /// Opens the shard's file. DataError if it is missing or has another size than the index says.
  MdsShardStream(const std::string& folder, const MdsShard& shard);
  ~MdsShardStream();
  MdsShardStream(const MdsShardStream&) = delete;
  MdsShardStream& operator=(const MdsShardStream&) = delete;

  const std::string& path() const { return file_.path; }

  /// Fills all of `into`. DataError if the shard ends before, or its compression is damaged.
  void read(std::span<std::byte> into);
  /// DataError if anything is left.
  void expect_end();

  std::uint64_t bytes_from_disk() const { return bytes_from_disk_; }

 private:
  struct Unzip;

  std::size_t read_file(std::span<std::byte> into);
  std::size_t read_some(std::span<std::byte> into);

  MdsShardFile file_;
  OpenFile opened_;
  std::uint64_t bytes_from_disk_ = 0;
  std::uint64_t offset_ = 0;  ///< in the uncompressed shard
  std::unique_ptr<Unzip> unzip_;
};

/// A whole shard, uncompressed. `bytes_from_disk` grows by what that read.
std::vector<std::byte> load_mds_shard(const std::string& folder, const MdsShard& shard,
                                      std::uint64_t& bytes_from_disk);

/// A whole compressed shard (find_mds_file says how) that is in memory, uncompressed, or its first
/// `wanted` bytes. DataError names `path`.
std::vector<std::byte> unzip_mds_shard(const std::string& path, const MdsShard& shard,
                                       std::span<const std::byte> zipped, std::uint64_t wanted);

/// DataError if the shard is compressed in a way that is not known.
void check_mds_compression(const std::string& path, const MdsShard& shard);

/// Checks the hashes that are listed and known; DataError names the file and both hashes. With
/// `fast_only`, those that cost next to nothing.
void check_mds_hashes(const std::string& path, const MdsFile& entry,
                      std::span<const std::byte> bytes, bool fast_only);

}  // namespace impart::data

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impart/data/mds/index.h"

namespace impart::data {

/// Writes samples into shards that MosaicML's streaming and MdsSource read. The folder must exist;
/// index.json appears in it last, with finish(), and until then the shards are not a data set.
/// One shard is in memory, twice if it is compressed.
class MdsWriter {
 public:
  /// ConfigError if the compression, a hash or the shard size cannot be.
  MdsWriter(std::string folder, MdsConfig config);

  /// Appends a sample, one value per column. ConfigError if they do not fit the columns, or the
  /// sample takes 4 GiB. IoError if a shard is full and cannot be written.
  void add(std::span<const std::span<const std::byte>> values);

  /// The same with a sample that is already joined: as MdsSource gives it.
  void add_sample(std::span<const std::byte> sample);

  /// Writes the last shard and index.json. IoError if that cannot be.
  void finish();

  std::uint64_t samples() const { return samples_; }

 private:
  void write_shard();
  void write_file(const std::string& name, std::span<const std::byte> bytes) const;
  MdsFile describe(std::string name, std::span<const std::byte> bytes) const;

  std::string folder_;
  MdsConfig config_;
  std::string shard_text_;
  int level_ = 0;  ///< of the compression
  std::vector<MdsShard> shards_;
  std::uint64_t samples_ = 0;
  std::vector<std::byte> data_;      ///< samples of the shard under way
  std::vector<std::uint32_t> ends_;  ///< where each ends in data_
};

/// The level in "zstd" (3) or "zstd:LEVEL". ConfigError if it is neither, or not in 1..22.
int parse_mds_compression(std::string_view compression);

}  // namespace impart::data

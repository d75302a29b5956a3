#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "impart/data/mds/columns.h"

namespace impart::data {

/// A file of a shard, as index.json lists it.
struct MdsFile {
  std::string name;  ///< under the folder of index.json
  std::uint64_t bytes = 0;
  std::map<std::string, std::string> hashes = {};  ///< name of a hash (kMdsHashes or not) → hex
};

/// Offsets in a shard have 32 bits.
inline constexpr std::uint64_t kMostShardBytes = std::numeric_limits<std::uint32_t>::max();

/// A run of samples that are stored together. The raw file has them as they are; if there is a zip
/// file, only that needs to exist.
struct MdsShard {
  std::uint64_t samples = 0;
  MdsFile raw;
  std::optional<MdsFile> zip = {};
  std::string compression = {};  ///< of the zip file: "zstd", "zstd:7"; empty without one
};

/// What all shards have in common, written into each of them, too.
struct MdsConfig {
  std::vector<MdsColumn> columns = {};
  std::string compression = {};          ///< empty: none
  std::vector<std::string> hashes = {};  ///< names, sorted
  std::uint64_t shard_bytes = 1u << 26;  ///< where a shard ends, uncompressed
};

/// The index.json of a folder of shards, format version 2.
struct MdsIndex {
  std::string folder;
  std::vector<MdsColumn> columns;  ///< the same in all shards
  std::vector<MdsShard> shards;

  std::string path() const { return folder + "/index.json"; }
  std::uint64_t samples() const;
};

/// DataError names the file and what is wrong: no JSON, another version or format, shards with
/// different columns, files outside the folder, numbers that cannot be. Whether the shards are what
/// it says is seen when they are read.
MdsIndex read_mds_index(const std::string& folder);
/// The same of an index.json that was read already; the folder is for messages, too.
MdsIndex parse_mds_index(const std::string& folder, std::string_view text);

/// The text of index.json, and the text that stands in every shard: JSON with sorted keys and
/// blanks as MosaicML's writer makes it, so that equal samples make equal files.
std::string mds_index_text(const MdsConfig& config, const std::vector<MdsShard>& shards);
std::string mds_shard_text(const MdsConfig& config);

}  // namespace impart::data

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "impart/core/progress.h"
#include "impart/data/payloads/example_set.h"

namespace impart::data {

struct MdsPackSpec {
  std::string destination;                              ///< becomes a folder with train/ and test/
  std::uint64_t shard_bytes = std::uint64_t{64} << 20;  ///< uncompressed
  std::string compression = {};                         ///< empty, "zstd" or "zstd:LEVEL"
  std::vector<std::string> hashes = {"xxh64"};          ///< names of kMdsHashes
  bool overwrite = false;                     ///< replace a data set of shards at the destination
  std::function<bool()> stop_requested = {};  ///< asked for every example
};

/// What packing throws when stop_requested() is true. Nothing is left behind then.
struct MdsPackInterrupted {};

struct MdsPackSummary {
  std::uint64_t examples = 0;
  std::uint64_t payload_bytes = 0;
  std::string encoding;  ///< of the image column: "jpeg", "ndarray:uint8:3,32,32", …
};

/// Writes a data set as MDS shards with the columns `image` and `label`, and the sidecars. Payloads
/// stay as they are: JPEG files make a jpeg column, PNG files a png column, both a bytes column,
/// and raw pixels an ndarray:uint8:C,H,W column. What comes from MDS shards keeps all its columns.
///
/// The destination appears complete or not at all. One payload and one shard (twice if it is
/// compressed) are in memory. ConfigError if the spec cannot be met, IoError if writing fails,
/// DataError if a payload cannot be read or is neither of the image's size nor a JPEG or PNG file.
MdsPackSummary pack_mds(const ExampleData& data, const MdsPackSpec& spec,
                        const Progress& progress = {});

}  // namespace impart::data

#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "impart/core/named_table.h"

namespace impart::data {

/// A fingerprint of a shard file, in lower-case hex digits.
using MdsHash = std::string(std::span<const std::byte> bytes);

MdsHash xxh64_of, xxh3_64_of, sha256_of, sha1_of, md5_of;

struct MdsHashEntry : Entry<MdsHash> {
  bool fast = false;  ///< much faster than reading a file: checked whenever all bytes are at hand
};

inline constexpr MdsHashEntry kMdsHashes[] = {
    {{"xxh64", "fast; finds accidents", xxh64_of}, true},
    {{"xxh3_64", "faster; finds accidents", xxh3_64_of}, true},
    {{"sha256", "finds tampering, too; 10 to 40 times slower", sha256_of}},
    {{"sha1", "for older data sets", sha1_of}},
    {{"md5", "for older data sets", md5_of}},
};
static_assert(names_are_unique(kMdsHashes));

}  // namespace impart::data

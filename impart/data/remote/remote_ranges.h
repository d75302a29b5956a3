#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "impart/data/payloads/file_ranges.h"
#include "impart/data/remote/object_reader.h"

namespace impart::data {

/// Payloads that are pieces of objects on a server, or whole ones.
struct RemoteRangesSpec {
  std::shared_ptr<ObjectReader> reader;
  FileNames objects{""};                         ///< names below the reader's folder
  std::vector<std::uint64_t> object_bytes = {};  ///< of each object; empty: payloads are all of one
  std::vector<FileRange> ranges = {};            ///< one per example, as in a file
  /// The low half of each payload's XXH3: what comes with another is fetched again, a few times.
  /// Empty: payloads are not checked.
  std::vector<std::uint32_t> sums = {};
  std::uint64_t gap = 1024;  ///< between two payloads of one request, at most
};

/// Reads as ObjectReader does. read_all() asks for neighbours in one request. What a read took is
/// what came from the server, gaps and repetitions included. DataError if a payload's sum is wrong
/// again and again.
std::shared_ptr<const PayloadSource> make_remote_range_source(RemoteRangesSpec spec);

/// The sum of a payload.
std::uint32_t payload_sum(std::span<const std::byte> payload);

}  // namespace impart::data

#pragma once

#include <cstdint>
#include <string>

#include "impart/core/progress.h"

namespace impart::data {

struct IndexSummary {
  std::uint64_t examples = 0, bytes = 0;
};

/// Makes a folder of photographs on this machine ready for a server: index.csv lists all files with
/// their hashes, and sums.json has its hash. Reads every file once. Errors as of opening it.
IndexSummary index_photos(const std::string& root, const Progress& progress = {});

/// The same for one folder of MDS shards: sums.npy has a sum of every sample, labels.npy is written
/// if it is missing and the samples have a label, and sums.json has the hashes of what describes
/// the shards.
IndexSummary index_shards(const std::string& folder, const Progress& progress = {});

}  // namespace impart::data

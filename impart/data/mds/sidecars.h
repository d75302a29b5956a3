#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "impart/data/payloads/example_set.h"

namespace impart::data {

/// What the MDS format has no place for, in files beside index.json, which other tools ignore:
///   labels.npy     the label of every sample (uint32), so that opening needs no look at the shards
///   truth.npy      how hard each sample is, where that is known
///   classes.json   the names of the classes
///   channels.json  {"mean": [...], "std": [...]}: what normalisation uses
///   sums.npy       of every sample the low half of its XXH3 (uint32), which is checked where it
///                  comes from a server; sums.json has those of the other files (listed_files.h)
/// Each may be missing, and is then empty here.
struct MdsSidecars {
  std::vector<std::uint32_t> labels = {};
  std::vector<float> truth = {};
  std::vector<std::string> class_names = {};
  std::vector<float> mean = {}, std = {};
  std::vector<std::uint32_t> sums = {};
};

/// The names of these files.
inline constexpr auto kMdsSidecarNames = {"labels.npy", "truth.npy", "classes.json",
                                          "channels.json", "sums.npy"};

/// DataError if a file is damaged, or has not `samples` numbers.
MdsSidecars read_mds_sidecars(const std::string& folder, std::uint64_t samples);

/// Writes those for which the set has something. IoError if that cannot be.
void write_mds_sidecars(const std::string& folder, const ExampleSet& set);

}  // namespace impart::data

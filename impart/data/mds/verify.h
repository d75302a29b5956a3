#pragma once

#include <functional>
#include <string>

#include "impart/core/progress.h"

namespace impart::data {

struct MdsVerifySpec {
  std::string folder;             ///< that holds index.json
  bool decode = false;            ///< decode every image, too
  std::string image_column = {};  ///< as in MdsSetSpec
  std::string label_column = {};
};

/// Told everything that is wrong, one line each: file, byte or sample, and what.
using MdsProblem = std::function<void(const std::string& what)>;

/// Reads all of a folder of shards and tells everything that is wrong with it, going on after each
/// problem as far as that makes sense: files that are missing or of another size, hashes, damaged
/// compression, offsets, samples whose values do not add up, labels (also against labels.npy), and
/// images that cannot be decoded. Hashes of unknown kinds are not checked. One shard is in memory,
/// with its compressed form. Never throws for what is wrong with the data.
void verify_mds(const MdsVerifySpec& spec, const MdsProblem& problem,
                const Progress& progress = {});

}  // namespace impart::data

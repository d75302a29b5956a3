#pragma once

#include <cstdint>
#include <string>

#include "impart/core/progress.h"
#include "impart/data/images/datasets.h"
#include "impart/data/payloads/example_set.h"
#include "impart/data/remote/remote_spec.h"

namespace impart::data {

struct MdsSetSpec {
  std::string folder;             ///< that holds index.json; a URL will do
  std::string image_column = {};  ///< empty: the first jpeg, png, bytes or ndarray column
  std::string label_column = {};  ///< empty: `label`, `class` or the only integer column
  std::uint32_t image_size = 0;   ///< of decoded photographs; 0 = 224
  std::uint64_t limit = 0;        ///< only the first so many samples; 0 = all
  std::uint64_t cache_bytes = std::uint64_t{512} << 20;  ///< as in MdsSourceSpec
  RemoteSpec remote = {};                                ///< how to ask, where it is on a server
};

/// One folder of MDS shards as labelled images. Labels come from labels.npy beside index.json, or
/// else from reading all shards once, which `progress` is told about. Class names, normalisation
/// and difficulty come from the other sidecars (sidecars.h); without them photographs get
/// ImageNet's normalisation. There are as many classes as there are names, or else as the largest
/// label needs. DataError says what is wrong with the files.
ExampleSet open_mds_set(const MdsSetSpec& spec, const Progress& progress = {});

/// Two sets that belong together: both get the number and names of the classes, and the test set
/// the training set's normalisation. DataError if their images have different sizes.
ExampleData pair_mds_sets(ExampleSet train, ExampleSet test);

/// open_mds (datasets.h) opens root/train, and root/test or else root/val.

}  // namespace impart::data

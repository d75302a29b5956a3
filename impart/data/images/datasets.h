#pragma once

#include <cstdint>
#include <string>

#include "impart/data/images/image_set.h"
#include "impart/data/payloads/example_set.h"
#include "impart/data/remote/remote_spec.h"

namespace impart::data {

/// Which data, and how much of it.
struct DataSpec {
  std::string name = "shapes";  ///< a row of kDatasets (data/datasets.h)
  std::string root = {};        ///< the folder that holds the files; `shapes` needs none; `mds` and
                                ///< `imagefolder` may be on a server: https://, http://, s3://
  /// Train on so many examples only; 0 = all. They are the first ones, but of `imagefolder`, whose
  /// examples are ordered by class, they are spread evenly over all.
  std::uint64_t limit = 0;

  std::uint64_t seed = 1;                                      ///< of `shapes`
  std::uint64_t train_examples = 10000, test_examples = 2000;  ///< of `shapes`

  bool coarse = false;  ///< `cifar100`: the 20 coarse classes instead of the 100 fine ones

  std::uint32_t image_size = 0;  ///< of decoded photographs; 0 = 224

  /// `mds`: which columns hold the image and its class; empty: found out from their encodings.
  std::string image_column = {}, label_column = {};

  RemoteSpec remote = {};  ///< how a server is asked, where the root is on one
};

/// Reads or makes a data set, all of it, into memory. Pure but for reading files. DataError names
/// the file and the byte where it is missing, damaged, too short or too long; ConfigError if the
/// spec cannot be met.
using Loader = ImageData(const DataSpec& spec);

Loader load_cifar10, load_cifar100, load_idx, make_shapes;

/// Opens a data set without holding its pixels: labels and everything else about it are read and
/// checked now, as the loader does, payloads when they are asked for. Opened and decoded (without
/// random choices) it is what the loader gives. Errors as of a loader.
using Opener = ExampleData(const DataSpec& spec);

Opener open_cifar10, open_cifar100, open_idx, open_shapes;
/// Class folders of JPEG and PNG files. See imagefolder.cpp for what is expected of them.
Opener open_imagefolder;
/// Shards in MosaicML's MDS format, see data/mds/dataset.h.
Opener open_mds;

}  // namespace impart::data

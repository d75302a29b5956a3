#pragma once

#include <cstdint>
#include <string>

#include "impart/core/named_table.h"
#include "impart/data/image_set.h"

namespace impart {

/// Which data, and how much of it.
struct DataSpec {
  std::string name = "shapes";  ///< a row of kDatasets
  std::string root = {};        ///< the folder that holds the files; `shapes` needs none
  std::uint64_t limit = 0;      ///< train on the first so many examples only; 0 = all

  std::uint64_t seed = 1;                                      ///< of `shapes`
  std::uint64_t train_examples = 10000, test_examples = 2000;  ///< of `shapes`

  bool coarse = false;  ///< `cifar100`: the 20 coarse classes instead of the 100 fine ones
};

/// Reads or makes a data set, all of it, into memory. Pure but for reading files. DataError names
/// the file and the byte where it is missing, damaged, too short or too long; ConfigError if the
/// spec cannot be met.
using Loader = ImageData(const DataSpec& spec);

Loader load_cifar10, load_cifar100, load_idx, make_shapes;

struct DatasetEntry : Entry<Loader> {
  bool reads_files = true;  ///< from DataSpec::root
};

inline constexpr DatasetEntry kDatasets[] = {
    {{"shapes", "drawn here: 10 kinds of shapes, 32x32, with a known difficulty", make_shapes},
     false},
    {{"cifar10", "CIFAR-10, binary version: data_batch_1..5.bin, test_batch.bin", load_cifar10}},
    {{"cifar100", "CIFAR-100, binary version: train.bin, test.bin; fine or coarse labels",
      load_cifar100}},
    {{"idx", "MNIST and its relatives: train-images-idx3-ubyte and so on, also .gz", load_idx}},
};
static_assert(names_are_unique(kDatasets));

/// Looks spec.name up in kDatasets and loads it.
ImageData load_data(const DataSpec& spec);

}  // namespace impart

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "impart/core/named_table.h"

namespace impart::data {

/// One file to take out of an archive, whatever folder of the archive it is in.
struct FetchMember {
  std::string_view name;
  std::uint64_t most_bytes;  ///< an archive in which it is larger is refused
  bool optional = false;     ///< for loaders that do without it: names of classes
};

/// One file to download.
struct FetchFile {
  std::string_view name;  ///< below the address of its set
  std::uint64_t bytes;
  std::string_view sha256;                    ///< 64 hexadecimal digits
  std::span<const FetchMember> members = {};  ///< of a .tar.gz; without any, the file is used as is
};

/// A published data set that can be downloaded.
struct Fetchable {
  std::string_view name;
  std::string_view summary;
  std::string_view address;  ///< URL of the folder that holds the files; ends with '/'
  std::span<const FetchFile> files;
  std::string_view dataset;  ///< the row of kDatasets that loads it
};

namespace fetch_files {

inline constexpr std::uint64_t kText = 64 << 10;

inline constexpr FetchMember kCifar10Members[] = {
    {"data_batch_1.bin", 30730000},    {"data_batch_2.bin", 30730000},
    {"data_batch_3.bin", 30730000},    {"data_batch_4.bin", 30730000},
    {"data_batch_5.bin", 30730000},    {"test_batch.bin", 30730000},
    {"batches.meta.txt", kText, true},
};
inline constexpr FetchMember kCifar100Members[] = {
    {"train.bin", 153700000},
    {"test.bin", 30740000},
    {"fine_label_names.txt", kText, true},
    {"coarse_label_names.txt", kText, true},
};
inline constexpr FetchFile kCifar10[] = {
    {"cifar-10-binary.tar.gz", 170052171,
     "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd", kCifar10Members},
};
inline constexpr FetchFile kCifar100[] = {
    {"cifar-100-binary.tar.gz", 168513733,
     "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec", kCifar100Members},
};
inline constexpr FetchFile kFashionMnist[] = {
    {"train-images-idx3-ubyte.gz", 26421880,
     "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"},
    {"train-labels-idx1-ubyte.gz", 29515,
     "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"},
    {"t10k-images-idx3-ubyte.gz", 4422102,
     "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"},
    {"t10k-labels-idx1-ubyte.gz", 5148,
     "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"},
};

}  // namespace fetch_files

inline constexpr Fetchable kFetchables[] = {
    {"cifar10", "CIFAR-10: 60 000 colour images, 32x32, 10 classes",
     "https://www.cs.toronto.edu/~kriz/", fetch_files::kCifar10, "cifar10"},
    {"cifar100", "CIFAR-100: 60 000 colour images, 32x32, 100 fine and 20 coarse classes",
     "https://www.cs.toronto.edu/~kriz/", fetch_files::kCifar100, "cifar100"},
    {"fashion-mnist", "Fashion-MNIST: 70 000 grey images, 28x28, 10 classes",
     "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/", fetch_files::kFashionMnist,
     "idx"},
};
static_assert(names_are_unique(kFetchables));

}  // namespace impart::data

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impart/data/images/datasets.h"

namespace impart::data {

/// The binary CIFAR files are records without a header: one or two label bytes, then 3072 pixel
/// bytes (32×32, planes red, green, blue). What differs between CIFAR-10 and CIFAR-100:
struct CifarFormat {
  std::span<const std::string_view> train_files, test_files;
  /// The number of classes of each label byte of a record, in order.
  std::span<const std::uint32_t> label_classes;
  std::size_t used_label = 0;  ///< which of them becomes the label
  std::vector<float> mean = {}, std = {};
  std::vector<std::string> class_names = {};
  std::string_view advice;  ///< where to get the files, for messages
};

/// The records of the files, one after another, at most spec.limit of the training set; files
/// beyond the limit are not opened. Files may hold any whole number of records, but not none.
ImageData load_cifar(const DataSpec& spec, const CifarFormat& format);

/// The same without the pixels, unless a file is packed: then that whole part of the data is held
/// in memory.
ExampleData open_cifar(const DataSpec& spec, const CifarFormat& format);

}  // namespace impart::data

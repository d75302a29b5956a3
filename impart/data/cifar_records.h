#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impart/data/image_set.h"

namespace impart {

/// The binary CIFAR files are records without a header: one or two label bytes, then 3072 pixel
/// bytes (32×32, planes red, green, blue). What differs between CIFAR-10 and CIFAR-100:
struct CifarFormat {
  /// The number of classes of each label byte of a record, in order.
  std::span<const std::uint32_t> label_classes;
  std::size_t used_label = 0;  ///< which of them becomes the label
  std::vector<float> mean = {}, std = {};
  std::vector<std::string> class_names = {};
  std::string_view advice;  ///< where to get the files, for messages
};

/// The records of the files, one after another, at most `limit` of them (0 = all); files beyond the
/// limit are not opened. Files may hold any whole number of records, but not none.
ImageSet read_cifar_records(const std::string& root, std::span<const std::string_view> files,
                            const CifarFormat& format, std::uint64_t limit);

}  // namespace impart

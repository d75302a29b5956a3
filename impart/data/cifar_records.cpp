#include "impart/data/cifar_records.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/data/data_file.h"

namespace impart {
namespace {

constexpr std::uint32_t kSide = 32;
constexpr std::uint32_t kChannels = 3;
constexpr std::size_t kImageBytes = std::size_t{kChannels} * kSide * kSide;

std::uint64_t count_records(const DataFile& file, std::size_t record_bytes) {
  const std::size_t bytes = file.bytes().size();
  const std::size_t records = bytes / record_bytes;
  if (bytes == 0) throw DataError(fmt::format("{}: the file is empty", file.path()));
  if (bytes % record_bytes != 0) {
    throw DataError(fmt::format("{}: byte {}: record {} has only {} of its {} bytes", file.path(),
                                records * record_bytes, records, bytes % record_bytes,
                                record_bytes));
  }
  return records;
}

void check_label(const DataFile& file, std::size_t offset, std::size_t record,
                 std::uint32_t classes) {
  const auto label = std::to_integer<std::uint32_t>(file.bytes()[offset]);
  if (label < classes) return;
  throw DataError(fmt::format("{}: byte {}: record {} has label {}, which is not in 0..{}",
                              file.path(), offset, record, label, classes - 1));
}

void append_records(const DataFile& file, const CifarFormat& format, std::uint64_t records,
                    ImageSet& set) {
  const std::size_t label_bytes = format.label_classes.size();
  const std::size_t record_bytes = label_bytes + kImageBytes;
  for (std::size_t record = 0; record < records; ++record) {
    const std::size_t offset = record * record_bytes;
    for (std::size_t k = 0; k < label_bytes; ++k) {
      check_label(file, offset + k, record, format.label_classes[k]);
    }
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(file.bytes().data()) + offset;
    set.labels.push_back(bytes[format.used_label]);
    set.pixels.insert(set.pixels.end(), bytes + label_bytes, bytes + record_bytes);
  }
  set.count += records;
}

}  // namespace

ImageSet read_cifar_records(const std::string& root, std::span<const std::string_view> files,
                            const CifarFormat& format, std::uint64_t limit) {
  const std::size_t record_bytes = format.label_classes.size() + kImageBytes;
  const std::uint64_t wanted = limit == 0 ? std::numeric_limits<std::uint64_t>::max() : limit;
  std::vector<DataFile> opened;
  std::uint64_t available = 0;
  for (const std::string_view name : files) {
    if (available >= wanted) break;
    available += count_records(opened.emplace_back(root, name, format.advice), record_bytes);
  }
  ImageSet set{.channels = kChannels,
               .height = kSide,
               .width = kSide,
               .classes = format.label_classes[format.used_label],
               .mean = format.mean,
               .std = format.std,
               .class_names = format.class_names};
  const std::uint64_t count = std::min(available, wanted);
  set.pixels.reserve(count * kImageBytes);
  set.labels.reserve(count);
  for (const DataFile& file : opened) {
    append_records(file, format, std::min(count_records(file, record_bytes), count - set.count),
                   set);
  }
  return set;
}

}  // namespace impart

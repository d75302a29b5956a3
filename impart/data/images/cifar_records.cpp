#include "impart/data/images/cifar_records.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/data/payloads/data_file.h"
#include "impart/data/payloads/file_ranges.h"
#include "impart/data/payloads/memory_payloads.h"
#include "impart/data/payloads/raw_decoder.h"

namespace impart::data {
namespace {

constexpr std::uint32_t kCifarSide = 32;
constexpr std::uint32_t kChannels = 3;
constexpr std::size_t kImageBytes = std::size_t{kChannels} * kCifarSide * kCifarSide;

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

/// The files of one part of the data, and how many of their records are wanted.
struct Records {
  std::vector<DataFile> files;
  std::uint64_t count = 0;
};

Records open_records(const std::string& root, std::span<const std::string_view> files,
                     const CifarFormat& format, std::uint64_t limit) {
  const std::size_t record_bytes = format.label_classes.size() + kImageBytes;
  const std::uint64_t wanted = limit == 0 ? std::numeric_limits<std::uint64_t>::max() : limit;
  Records records;
  for (const std::string_view name : files) {
    if (records.count >= wanted) break;
    records.count +=
        count_records(records.files.emplace_back(root, name, format.advice), record_bytes);
  }
  records.count = std::min(records.count, wanted);
  return records;
}

/// Calls visit(file, offset of the pixels, label) for each record, once its labels are known to be
/// right.
template <class Visit>
void visit_records(const Records& records, const CifarFormat& format, const Visit& visit) {
  const std::size_t label_bytes = format.label_classes.size();
  const std::size_t record_bytes = label_bytes + kImageBytes;
  std::uint64_t left = records.count;
  for (std::size_t file = 0; file < records.files.size(); ++file) {
    const DataFile& opened = records.files[file];
    const std::uint64_t here = std::min(left, count_records(opened, record_bytes));
    for (std::size_t record = 0; record < here; ++record) {
      const std::size_t offset = record * record_bytes;
      for (std::size_t k = 0; k < label_bytes; ++k) {
        check_label(opened, offset + k, record, format.label_classes[k]);
      }
      const auto label = std::to_integer<std::uint32_t>(opened.bytes()[offset + format.used_label]);
      visit(file, offset + label_bytes, label);
    }
    left -= here;
  }
}

ImageSet load_records(const Records& records, const CifarFormat& format) {
  ImageSet set{.count = records.count,
               .channels = kChannels,
               .height = kCifarSide,
               .width = kCifarSide,
               .classes = format.label_classes[format.used_label],
               .mean = format.mean,
               .std = format.std,
               .class_names = format.class_names};
  set.pixels.reserve(set.count * kImageBytes);
  set.labels.reserve(set.count);
  visit_records(records, format, [&](std::size_t file, std::size_t offset, std::uint32_t label) {
    const auto* pixels =
        reinterpret_cast<const std::uint8_t*>(records.files[file].bytes().data()) + offset;
    set.pixels.insert(set.pixels.end(), pixels, pixels + kImageBytes);
    set.labels.push_back(label);
  });
  return set;
}

ExampleSet open_part(const std::string& root, std::span<const std::string_view> files,
                     const CifarFormat& format, std::uint64_t limit) {
  const Records records = open_records(root, files, format, limit);
  const auto packed = std::find_if(records.files.begin(), records.files.end(),
                                   [](const DataFile& file) { return file.packed(); });
  if (packed != records.files.end()) {
    return view_in_memory(load_records(records, format), packed->path());
  }
  ExampleSet set{.decoder = make_raw_decoder(kImageBytes),
                 .channels = kChannels,
                 .height = kCifarSide,
                 .width = kCifarSide,
                 .classes = format.label_classes[format.used_label],
                 .mean = format.mean,
                 .std = format.std,
                 .class_names = format.class_names};
  FileRangesSpec ranges{.files = FileNames(root)};
  for (const DataFile& file : records.files) {
    ranges.files.append(std::filesystem::path(file.path()).filename().string());
  }
  ranges.ranges.reserve(records.count);
  set.labels.reserve(records.count);
  visit_records(records, format, [&](std::size_t file, std::size_t offset, std::uint32_t label) {
    ranges.ranges.push_back({.offset = offset,
                             .file = static_cast<std::uint32_t>(file),
                             .bytes = static_cast<std::uint32_t>(kImageBytes)});
    set.labels.push_back(label);
  });
  set.payloads = make_file_range_source(std::move(ranges));
  return set;
}

}  // namespace

ImageData load_cifar(const DataSpec& spec, const CifarFormat& format) {
  const auto load = [&](std::span<const std::string_view> files, std::uint64_t limit) {
    return load_records(open_records(spec.root, files, format, limit), format);
  };
  return {.train = load(format.train_files, spec.limit), .test = load(format.test_files, 0)};
}

ExampleData open_cifar(const DataSpec& spec, const CifarFormat& format) {
  return {.train = open_part(spec.root, format.train_files, format, spec.limit),
          .test = open_part(spec.root, format.test_files, format, 0)};
}

}  // namespace impart::data

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/data/images/datasets.h"
#include "impart/data/payloads/data_file.h"
#include "impart/data/payloads/file_ranges.h"
#include "impart/data/payloads/memory_payloads.h"
#include "impart/data/payloads/raw_decoder.h"

// IDX (Yann LeCun's MNIST page): two zero bytes, the element type (8 = unsigned byte), the number
// of dimensions, their extents as big-endian 32-bit numbers, then the elements, last dimension
// fastest.

namespace impart::data {
namespace {

constexpr std::uint32_t kIdxClasses = 10;
constexpr std::uint32_t kLargestSide = 4096;
constexpr float kMean = 0.1307f, kStd = 0.3081f;  // MNIST's
constexpr std::string_view kAdvice =
    "data.root must name the folder with MNIST's four files, or those of a set in its format "
    "(train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte, "
    "t10k-labels-idx1-ubyte, each also as .gz); 'impart data fetch fashion-mnist DIR' downloads "
    "one";

std::uint32_t big_endian_word(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t word = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    word = word << 8 | std::to_integer<std::uint32_t>(bytes[at + k]);
  }
  return word;
}

template <std::size_t kDimensions>
struct IdxArray {
  std::array<std::uint32_t, kDimensions> extents;
  std::span<const std::byte> elements;
  std::size_t start;  ///< offset of the first element in the file
};

template <std::size_t kDimensions>
IdxArray<kDimensions> parse_idx(const DataFile& file) {
  const std::span<const std::byte> bytes = file.bytes();
  constexpr std::size_t kStart = 4 + 4 * kDimensions;
  if (bytes.size() < kStart) {
    throw DataError(fmt::format("{}: byte {}: ends inside its header of {} bytes", file.path(),
                                bytes.size(), kStart));
  }
  constexpr std::uint32_t kMagic = 0x0800 + kDimensions;
  if (const std::uint32_t magic = big_endian_word(bytes, 0); magic != kMagic) {
    throw DataError(
        fmt::format("{}: byte 0: magic number {:#010x} instead of {:#010x} (unsigned "
                    "bytes in {} dimensions)",
                    file.path(), magic, kMagic, kDimensions));
  }
  IdxArray<kDimensions> array{.extents = {}, .elements = bytes.subspan(kStart), .start = kStart};
  std::uint64_t expected = 1;
  for (std::size_t k = 0; k < kDimensions; ++k) {
    array.extents[k] = big_endian_word(bytes, 4 + 4 * k);
    if (array.extents[k] == 0 || (k > 0 && array.extents[k] > kLargestSide)) {
      throw DataError(fmt::format("{}: byte {}: dimension {} has extent {}, which cannot be",
                                  file.path(), 4 + 4 * k, k, array.extents[k]));
    }
    expected *= array.extents[k];
  }
  if (array.elements.size() != expected) {
    throw DataError(fmt::format(
        "{}: byte {}: its header promises {} bytes of data, but there are "
        "{}: {}",
        file.path(), std::min(bytes.size(), kStart + expected), expected, array.elements.size(),
        array.elements.size() < expected ? "truncated" : "bytes left over"));
  }
  return array;
}

/// How large a file is by its header; parse_idx finds out whether that can be.
template <std::size_t kDimensions>
std::uint64_t promised_bytes(std::span<const std::byte> front) {
  constexpr std::size_t kStart = 4 + 4 * kDimensions;
  if (front.size() < kStart) return kStart;
  std::uint64_t bytes = 1;
  for (std::size_t k = 0; k < kDimensions; ++k) {
    bytes *= std::min(big_endian_word(front, 4 + 4 * k), k == 0 ? ~0u : kLargestSide);
  }
  return kStart + bytes;
}

void check_labels(const DataFile& file, const IdxArray<1>& labels) {
  for (std::size_t i = 0; i < labels.elements.size(); ++i) {
    const auto label = std::to_integer<std::uint32_t>(labels.elements[i]);
    if (label < kIdxClasses) continue;
    throw DataError(fmt::format("{}: byte {}: record {} has label {}, which is not in 0..{}",
                                file.path(), labels.start + i, i, label, kIdxClasses - 1));
  }
}

/// The two files of one part of the data, found to fit each other.
struct IdxPair {
  DataFile image_file, label_file;
  IdxArray<3> images;
  IdxArray<1> labels;
  std::uint64_t count;  ///< that are wanted

  IdxPair(const std::string& root, std::string_view prefix, std::uint64_t limit)
      : image_file(root, fmt::format("{}-images-idx3-ubyte", prefix), kAdvice, promised_bytes<3>),
        label_file(root, fmt::format("{}-labels-idx1-ubyte", prefix), kAdvice, promised_bytes<1>),
        images(parse_idx<3>(image_file)),
        labels(parse_idx<1>(label_file)),
        count(limit == 0 ? images.extents[0] : std::min<std::uint64_t>(images.extents[0], limit)) {
    if (labels.extents[0] != images.extents[0]) {
      throw DataError(fmt::format("{}: byte 4: {} labels for the {} images of {}",
                                  label_file.path(), labels.extents[0], images.extents[0],
                                  image_file.path()));
    }
    check_labels(label_file, labels);
  }
};

ImageSet load_pair(const IdxPair& pair) {
  ImageSet set{.count = pair.count,
               .channels = 1,
               .height = pair.images.extents[1],
               .width = pair.images.extents[2],
               .classes = kIdxClasses,
               .mean = {kMean},
               .std = {kStd}};
  const auto* pixels = reinterpret_cast<const std::uint8_t*>(pair.images.elements.data());
  const auto* classes = reinterpret_cast<const std::uint8_t*>(pair.labels.elements.data());
  set.pixels.assign(pixels, pixels + set.count * set.image_bytes());
  set.labels.assign(classes, classes + set.count);
  return set;
}

ExampleSet open_pair(const std::string& root, const IdxPair& pair) {
  if (pair.image_file.packed()) return view_in_memory(load_pair(pair), pair.image_file.path());
  ExampleSet set{.channels = 1,
                 .height = pair.images.extents[1],
                 .width = pair.images.extents[2],
                 .classes = kIdxClasses,
                 .mean = {kMean},
                 .std = {kStd}};
  set.decoder = make_raw_decoder(set.image_bytes());
  const auto* classes = reinterpret_cast<const std::uint8_t*>(pair.labels.elements.data());
  set.labels.assign(classes, classes + pair.count);
  FileRangesSpec ranges{.files = FileNames(root)};
  ranges.files.append(std::filesystem::path(pair.image_file.path()).filename().string());
  for (std::uint64_t i = 0; i < pair.count; ++i) {
    ranges.ranges.push_back({.offset = pair.images.start + i * set.image_bytes(),
                             .bytes = static_cast<std::uint32_t>(set.image_bytes())});
  }
  set.payloads = make_file_range_source(std::move(ranges));
  return set;
}

template <class Data>
Data of_one_size(const std::string& root, Data data) {
  if (data.train.height == data.test.height && data.train.width == data.test.width) return data;
  throw DataError(fmt::format("{}: training images are {}x{}, test images {}x{}", root,
                              data.train.height, data.train.width, data.test.height,
                              data.test.width));
}

}  // namespace

ImageData load_idx(const DataSpec& spec) {
  return of_one_size(spec.root,
                     ImageData{.train = load_pair(IdxPair(spec.root, "train", spec.limit)),
                               .test = load_pair(IdxPair(spec.root, "t10k", 0))});
}

ExampleData open_idx(const DataSpec& spec) {
  return of_one_size(
      spec.root, ExampleData{.train = open_pair(spec.root, IdxPair(spec.root, "train", spec.limit)),
                             .test = open_pair(spec.root, IdxPair(spec.root, "t10k", 0))});
}

}  // namespace impart::data

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/data/data_file.h"
#include "impart/data/datasets.h"

// IDX (Yann LeCun's MNIST page): two zero bytes, the element type (8 = unsigned byte), the number
// of dimensions, their extents as big-endian 32-bit numbers, then the elements, last dimension
// fastest.

namespace impart {
namespace {

constexpr std::uint32_t kClasses = 10;
constexpr std::uint32_t kLargestSide = 4096;
constexpr std::string_view kAdvice =
    "data.root must name the folder with MNIST's four files, or those of a set in its format "
    "(train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte, "
    "t10k-labels-idx1-ubyte, each also as .gz)";

std::uint32_t big_endian_word(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t word = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    word = word << 8 | std::to_integer<std::uint32_t>(bytes[at + k]);
  }
  return word;
}

template <std::size_t Dimensions>
struct IdxArray {
  std::array<std::uint32_t, Dimensions> extents;
  std::span<const std::byte> elements;
  std::size_t start;  ///< offset of the first element in the file
};

template <std::size_t Dimensions>
IdxArray<Dimensions> parse_idx(const DataFile& file) {
  const std::span<const std::byte> bytes = file.bytes();
  constexpr std::size_t kStart = 4 + 4 * Dimensions;
  if (bytes.size() < kStart) {
    throw DataError(fmt::format("{}: byte {}: ends inside its header of {} bytes", file.path(),
                                bytes.size(), kStart));
  }
  constexpr std::uint32_t kMagic = 0x0800 + Dimensions;
  if (const std::uint32_t magic = big_endian_word(bytes, 0); magic != kMagic) {
    throw DataError(
        fmt::format("{}: byte 0: magic number {:#010x} instead of {:#010x} (unsigned "
                    "bytes in {} dimensions)",
                    file.path(), magic, kMagic, Dimensions));
  }
  IdxArray<Dimensions> array{.extents = {}, .elements = bytes.subspan(kStart), .start = kStart};
  std::uint64_t expected = 1;
  for (std::size_t k = 0; k < Dimensions; ++k) {
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

void check_labels(const DataFile& file, const IdxArray<1>& labels) {
  for (std::size_t i = 0; i < labels.elements.size(); ++i) {
    const auto label = std::to_integer<std::uint32_t>(labels.elements[i]);
    if (label < kClasses) continue;
    throw DataError(fmt::format("{}: byte {}: record {} has label {}, which is not in 0..{}",
                                file.path(), labels.start + i, i, label, kClasses - 1));
  }
}

ImageSet read_pair(const std::string& root, std::string_view prefix, std::uint64_t limit) {
  const DataFile image_file(root, fmt::format("{}-images-idx3-ubyte", prefix), kAdvice);
  const DataFile label_file(root, fmt::format("{}-labels-idx1-ubyte", prefix), kAdvice);
  const IdxArray<3> images = parse_idx<3>(image_file);
  const IdxArray<1> labels = parse_idx<1>(label_file);
  if (labels.extents[0] != images.extents[0]) {
    throw DataError(fmt::format("{}: byte 4: {} labels for the {} images of {}", label_file.path(),
                                labels.extents[0], images.extents[0], image_file.path()));
  }
  check_labels(label_file, labels);
  const std::uint64_t all = images.extents[0];
  ImageSet set{.count = limit == 0 ? all : std::min(all, limit),
               .channels = 1,
               .height = images.extents[1],
               .width = images.extents[2],
               .classes = kClasses,
               .mean = {0.1307f},
               .std = {0.3081f}};
  const auto* pixels = reinterpret_cast<const std::uint8_t*>(images.elements.data());
  const auto* classes = reinterpret_cast<const std::uint8_t*>(labels.elements.data());
  set.pixels.assign(pixels, pixels + set.count * set.image_bytes());
  set.labels.assign(classes, classes + set.count);
  return set;
}

}  // namespace

ImageData load_idx(const DataSpec& spec) {
  ImageData data{.train = read_pair(spec.root, "train", spec.limit),
                 .test = read_pair(spec.root, "t10k", 0)};
  if (data.train.height != data.test.height || data.train.width != data.test.width) {
    throw DataError(fmt::format("{}: training images are {}x{}, test images {}x{}", spec.root,
                                data.train.height, data.train.width, data.test.height,
                                data.test.width));
  }
  return data;
}

}  // namespace impart

#include "impart/data/images/orientation.h"

#include <string_view>
#include <utility>
#include <vector>

namespace impart::data {
namespace {

/// Numbers of a TIFF structure, in its own order of bytes; 0 beyond its end.
class TiffNumbers {
 public:
  explicit TiffNumbers(std::span<const std::uint8_t> bytes)
      : bytes_(bytes), is_big_endian_(at(0) == 'M') {}

  std::uint32_t two(std::size_t offset) const {
    const std::uint32_t first = at(offset), second = at(offset + 1);
    return is_big_endian_ ? first << 8 | second : second << 8 | first;
  }
  std::uint32_t four(std::size_t offset) const {
    const std::uint32_t first = two(offset), second = two(offset + 2);
    return is_big_endian_ ? first << 16 | second : second << 16 | first;
  }

 private:
  std::uint8_t at(std::size_t offset) const {
    return offset < bytes_.size() ? bytes_[offset] : std::uint8_t{0};
  }

  std::span<const std::uint8_t> bytes_;
  bool is_big_endian_;
};

/// EXIF's number, 1 to 8; 0 if there is none.
std::uint32_t find_orientation(std::span<const std::uint8_t> tiff) {
  constexpr std::uint32_t kMagic = 42, kOrientation = 0x0112, kShort = 3;
  constexpr std::size_t kEntryBytes = 12;
  const TiffNumbers numbers(tiff);
  if (numbers.two(2) != kMagic) return 0;
  const std::size_t directory = numbers.four(4);
  const std::uint32_t entries = numbers.two(directory);
  for (std::uint32_t k = 0; k < entries; ++k) {
    const std::size_t entry = directory + 2 + k * kEntryBytes;
    if (entry + kEntryBytes > tiff.size()) return 0;
    if (numbers.two(entry) != kOrientation) continue;
    return numbers.two(entry + 2) == kShort ? numbers.two(entry + 8) : 0;
  }
  return 0;
}

}  // namespace

Orientation read_exif_orientation(std::span<const std::uint8_t> tiff) {
  const std::uint32_t number = find_orientation(tiff);
  if (number < 1 || number > 8) return {};
  return {.mirrors_columns = number == 2 || number == 3 || number == 7 || number == 8,
          .mirrors_rows = number == 3 || number == 4 || number == 6 || number == 7,
          .transposes = number >= 5};
}

Orientation read_app1_orientation(std::span<const std::uint8_t> segment) {
  using namespace std::string_view_literals;
  constexpr std::string_view kExif = "Exif\0\0"sv;
  const std::string_view text(reinterpret_cast<const char*>(segment.data()), segment.size());
  if (!text.starts_with(kExif)) return {};
  return read_exif_orientation(segment.subspan(kExif.size()));
}

void turn(std::span<std::uint8_t> planes, std::uint32_t size, const Orientation& orientation) {
  if (orientation == Orientation{}) return;
  const std::vector<std::uint8_t> stored(planes.begin(), planes.end());
  const std::size_t plane_bytes = std::size_t{size} * size;
  for (std::size_t i = 0; i < planes.size(); ++i) {
    const std::size_t plane = i / plane_bytes * plane_bytes;
    std::size_t x = i % size, y = i % plane_bytes / size;
    if (orientation.transposes) std::swap(x, y);
    if (orientation.mirrors_columns) x = size - 1 - x;
    if (orientation.mirrors_rows) y = size - 1 - y;
    planes[i] = stored[plane + y * size + x];
  }
}

}  // namespace impart::data

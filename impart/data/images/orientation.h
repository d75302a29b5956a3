#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace impart::data {

/// How a stored picture has to be turned to be seen upright: mirrored, then maybe transposed.
struct Orientation {
  bool mirrors_columns = false;  ///< left and right change places
  bool mirrors_rows = false;     ///< top and bottom change places
  bool transposes = false;       ///< after that, columns become rows

  friend bool operator==(const Orientation&, const Orientation&) = default;
};

/// As EXIF says, which is a TIFF structure: the content of a PNG's eXIf chunk. Like browsers, takes
/// the picture as it is if that is damaged or says something unknown.
Orientation read_exif_orientation(std::span<const std::uint8_t> tiff);

/// The same for the content of a JPEG's APP1 segment, which need not be EXIF.
Orientation read_app1_orientation(std::span<const std::uint8_t> segment);

/// Turns planes of size × size.
void turn(std::span<std::uint8_t> planes, std::uint32_t size, const Orientation& orientation);

}  // namespace impart::data

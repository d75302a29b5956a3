#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace impart::data {

/// Arrays in MDS columns: "ndarray", "ndarray:uint8" or "ndarray:uint8:3,32,32". What the encoding
/// leaves open stands in front of every value.
struct MdsArrayEncoding {
  std::string type = {};                  ///< NumPy's name: "uint8", …; empty if values say it
  std::vector<std::uint64_t> shape = {};  ///< empty if values say it

  /// Of every value, 0 if that is open.
  std::uint32_t fixed_bytes() const;
};

/// DataError if it is no array encoding, its type is not known, or it takes 4 GiB or more.
MdsArrayEncoding parse_mds_array_encoding(std::string_view encoding);

struct MdsArray {
  std::string type;
  std::vector<std::uint64_t> shape;
  std::span<const std::byte> elements;  ///< in C order; points into the value
};

/// DataError if the value does not have as many bytes as its type and shape say.
MdsArray view_mds_array(const MdsArrayEncoding& encoding, std::span<const std::byte> value);

/// How the bytes of an array are an image.
struct MdsImageLayout {
  std::uint32_t channels = 0, height = 0, width = 0;
  bool planes = true;  ///< else pixel by pixel

  bool operator==(const MdsImageLayout&) const = default;
};

/// 3 × H × W or 1 × H × W are planes one by one, H × W × 3 or H × W × 1 pixel by pixel, H × W is
/// grey. DataError if the shape is none of these, or the array is not of bytes.
MdsImageLayout mds_image_layout(std::string_view type, std::span<const std::uint64_t> shape);

}  // namespace impart::data

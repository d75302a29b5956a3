#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace impart::data {

/// The measures of a picture.
struct PictureSize {
  std::uint32_t channels = 3;  ///< 1: shades of grey, 3: red, green and blue
  std::uint32_t height = 0, width = 0;
};

/// The bytes of a PNG file. `planes` has channels × height × width bytes, planes one by one. Error
/// if the numbers do not go together.
std::string encode_png(const PictureSize& size, std::span<const std::uint8_t> planes);

}  // namespace impart::data

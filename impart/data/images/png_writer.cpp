#include "impart/data/images/png_writer.h"

#include <vector>

#include <fmt/format.h>
#include <png.h>

#include "impart/core/error.h"

namespace impart::data {
namespace {

/// Pixel by pixel, as PNG files have them.
std::vector<std::uint8_t> interleave(const PictureSize& size,
                                     std::span<const std::uint8_t> planes) {
  const std::size_t pixels = std::size_t{size.height} * size.width;
  std::vector<std::uint8_t> mixed(planes.size());
  for (std::size_t channel = 0; channel < size.channels; ++channel) {
    for (std::size_t i = 0; i < pixels; ++i) {
      mixed[i * size.channels + channel] = planes[channel * pixels + i];
    }
  }
  return mixed;
}

}  // namespace

std::string encode_png(const PictureSize& size, std::span<const std::uint8_t> planes) {
  const std::size_t bytes = std::size_t{size.channels} * size.height * size.width;
  if ((size.channels != 1 && size.channels != 3) || bytes == 0 || planes.size() != bytes) {
    throw Error(fmt::format("no picture: {} channels, {} x {}, {} bytes", size.channels,
                            size.height, size.width, planes.size()));
  }
  const std::vector<std::uint8_t> mixed = interleave(size, planes);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = size.width;
  image.height = size.height;
  image.format = size.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  std::string file(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t written = file.size();
  if (png_image_write_to_memory(&image, file.data(), &written, 0, mixed.data(), 0, nullptr) == 0) {
    throw Error(fmt::format("libpng cannot write: {}", image.message));
  }
  file.resize(written);
  return file;
}

}  // namespace impart::data

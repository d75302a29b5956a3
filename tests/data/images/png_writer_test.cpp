#include "impart/data/images/png_writer.h"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>
#include <png.h>

#include "impart/core/error.h"

namespace impart::data {
namespace {

/// The pixels of a file, red, green and blue of each.
std::vector<std::uint8_t> pixels_in(const std::string& file) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_memory(&image, file.data(), file.size()), 0) << image.message;
  image.format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(image));
  EXPECT_NE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr), 0) << image.message;
  return pixels;
}

TEST(PngWriter, KeepsEveryPixel) {
  std::vector<std::uint8_t> planes(3 * 5 * 7);
  std::iota(planes.begin(), planes.end(), std::uint8_t{80});
  const auto pixels = pixels_in(encode_png({.channels = 3, .height = 5, .width = 7}, planes));
  ASSERT_EQ(pixels.size(), planes.size());
  for (std::size_t i = 0; i < 35; ++i) {
    for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(pixels[3 * i + c], planes[35 * c + i]);
  }
}

TEST(PngWriter, WritesShadesOfGrey) {
  const std::vector<std::uint8_t> planes = {0, 100, 200, 255};
  EXPECT_EQ(pixels_in(encode_png({.channels = 1, .height = 2, .width = 2}, planes)),
            (std::vector<std::uint8_t>{0, 0, 0, 100, 100, 100, 200, 200, 200, 255, 255, 255}));
}

TEST(PngWriter, RefusesWhatIsNoPicture) {
  const std::vector<std::uint8_t> planes(12);
  EXPECT_THROW(encode_png({.channels = 2, .height = 2, .width = 3}, planes), Error);
  EXPECT_THROW(encode_png({.channels = 3, .height = 2, .width = 3}, planes), Error);
  EXPECT_THROW(encode_png({.channels = 3, .height = 0, .width = 2}, {}), Error);
}

}  // namespace
}  // namespace impart::data

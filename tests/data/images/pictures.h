#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <jpeglib.h>
#include <png.h>

namespace impart::testing {

/// Pixels of red, green and blue that differ everywhere but change smoothly.
inline std::vector<std::uint8_t> smooth_pixels(std::uint32_t width, std::uint32_t height,
                                               std::uint32_t shade = 0) {
  std::vector<std::uint8_t> pixels;
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      pixels.push_back(static_cast<std::uint8_t>(x * 200 / width + shade));
      pixels.push_back(static_cast<std::uint8_t>(y * 200 / height + shade));
      pixels.push_back(static_cast<std::uint8_t>((x + y) * 200 / (width + height) + shade));
    }
  }
  return pixels;
}

inline std::string jpeg_of(std::uint32_t width, std::uint32_t height, std::uint32_t shade = 0,
                           const std::vector<jpeg_scan_info>& scans = {}) {
  std::vector<std::uint8_t> pixels = smooth_pixels(width, height, shade);
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_width = width;
  jpeg.image_height = height;
  jpeg.input_components = 3;
  jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  if (!scans.empty()) {
    jpeg.scan_info = scans.data();
    jpeg.num_scans = static_cast<int>(scans.size());
  }
  jpeg_start_compress(&jpeg, TRUE);
  for (std::size_t y = 0; y < height; ++y) {
    JSAMPROW row = pixels.data() + y * width * 3;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::string content(reinterpret_cast<char*>(bytes), size);
  std::free(bytes);
  return content;
}

inline std::string png_of(std::uint32_t width, std::uint32_t height, bool interlaced = false) {
  std::vector<std::uint8_t> pixels = smooth_pixels(width, height);
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  std::string content;
  png_set_write_fn(
      png, &content,
      [](png_structp writer, png_bytep bytes, std::size_t count) {
        static_cast<std::string*>(png_get_io_ptr(writer))
            ->append(reinterpret_cast<char*>(bytes), count);
      },
      nullptr);
  png_set_IHDR(png, info, width, height, 8, PNG_COLOR_TYPE_RGB,
               interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_bytep> rows;
  for (std::size_t y = 0; y < height; ++y) rows.push_back(pixels.data() + y * width * 3);
  png_set_rows(png, info, rows.data());
  png_write_png(png, info, PNG_TRANSFORM_IDENTITY, nullptr);
  png_destroy_write_struct(&png, &info);
  return content;
}

}  // namespace impart::testing

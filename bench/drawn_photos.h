#pragma once

#include <cstdint>
#include <string>

namespace impart::bench {

/// Photographs that nobody took: smooth shapes under noise of several scales, which cost a decoder
/// what ImageNet's do.
struct DrawnPhotosSpec {
  std::uint32_t photos = 4096;  ///< of train/; val/ has one per class
  std::uint32_t copies = 1;     ///< names that each has: links
  std::uint32_t classes = 8;
  std::uint32_t width = 500, height = 375;
  int quality = 90;
  std::uint32_t threads = 1;
};

/// Writes them into a folder as `imagefolder` reads it. Equal specs, equal bytes.
/// Returns the mean size of a photo in bytes.
double draw_photos(const std::string& folder, const DrawnPhotosSpec& spec);

}  // namespace impart::bench

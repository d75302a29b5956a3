#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <zlib.h>

#include "tests/support/temporary_folder.h"

namespace impart::testing {

/// Records of `labels` and 3072 pixels; pixel p of the record with first label l is l + p mod 251.
inline std::string cifar_records(const std::vector<std::vector<int>>& records) {
  std::string bytes;
  for (const std::vector<int>& labels : records) {
    for (const int label : labels) bytes += static_cast<char>(label);
    for (int p = 0; p < 3072; ++p) bytes += static_cast<char>((labels[0] + p) % 251);
  }
  return bytes;
}

inline std::string big_endian(std::uint32_t word) {
  return {static_cast<char>(word >> 24), static_cast<char>(word >> 16),
          static_cast<char>(word >> 8), static_cast<char>(word)};
}

inline std::string idx_labels(std::string_view labels) {
  return big_endian(0x0801) + big_endian(static_cast<std::uint32_t>(labels.size())) +
         std::string(labels);
}

/// Images of the given size; byte k of the data is k mod 256.
inline std::string idx_images(std::uint32_t count, std::uint32_t height, std::uint32_t width) {
  std::string bytes =
      big_endian(0x0803) + big_endian(count) + big_endian(height) + big_endian(width);
  for (std::uint32_t k = 0; k < count * height * width; ++k) bytes += static_cast<char>(k);
  return bytes;
}

inline std::string gzip(std::string_view content) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace impart::testing

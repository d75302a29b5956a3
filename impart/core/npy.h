#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "impart/core/file.h"

namespace impart {

/// NumPy's .npy format (versions 1 to 3), little-endian numbers only: what we exchange arrays in.
struct NpyArray {
  std::string type;  ///< NumPy's letters without the byte order: "f4", "f8", "i8", "u4", …
  std::vector<std::uint64_t> shape;
  bool fortran_order = false;
  std::span<const std::byte> data;  ///< points into the file it was read from

  std::uint64_t size() const;
};

/// DataError if the header is damaged, or the file is shorter or longer than the header says.
NpyArray parse_npy(const InputFile& file);

/// The header for an array in C order; the data follows it. A multiple of 64 bytes.
std::string npy_header(std::string_view type, std::span<const std::uint64_t> shape);

}  // namespace impart

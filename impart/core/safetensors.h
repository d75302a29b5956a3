#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impart/core/file.h"

namespace impart {

/// The safetensors format, in which models and checkpoints are kept:
///
///   8 bytes   length of the header, little-endian
///   header    JSON, padded with blanks to a multiple of 8:
///             {"__metadata__": {"key": "text", …},
///              "name": {"dtype": "F32", "shape": [64, 3, 7, 7], "data_offsets": [begin, end]}, …}
///   data      little-endian, row-major, no gaps; offsets count from the first byte after the
///   header
///
/// We write wide element types first, so that every tensor is aligned to its element's width, while
/// the header keeps the caller's order.
enum class ElementType {
  kF64,
  kF32,
  kF16,
  kBF16,
  kI64,
  kI32,
  kI16,
  kI8,
  kU64,
  kU32,
  kU16,
  kU8,
  kBool
};

/// The format's name of a type ("F32"), and bytes per element.
std::string_view name_of(ElementType type);
std::uint64_t width_of(ElementType type);

/// A named array. The bytes belong to someone else.
struct TensorView {
  std::string name;
  ElementType type = ElementType::kF32;
  std::vector<std::uint64_t> shape;  ///< empty for a single number
  std::span<const std::byte> data;
};

using TensorMetadata = std::map<std::string, std::string>;

/// Writes the file complete or not at all. ConfigError if two tensors have the same name, a
/// name is not UTF-8, or a tensor's bytes are not what its shape says; IoError.
void write_safetensors(const std::string& path, std::span<const TensorView> tensors,
                       const TensorMetadata& metadata = {});

/// A file, mapped and checked: every offset lies in the file, the tensors cover the data without
/// gap or overlap, and each has the size its type and shape say.
class SafetensorsFile {
 public:
  /// DataError if anything is wrong.
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return file_.path(); }
  /// In the header's order. The data points into the file and lives as long as this object; files
  /// written elsewhere need not be aligned.
  std::span<const TensorView> tensors() const { return tensors_; }
  /// The tensor of that name, or nullptr. Logarithmic.
  const TensorView* find(std::string_view name) const;
  const TensorMetadata& metadata() const { return metadata_; }

 private:
  InputFile file_;
  std::vector<TensorView> tensors_;
  TensorMetadata metadata_;
  std::map<std::string, std::size_t, std::less<>> positions_;
};

}  // namespace impart

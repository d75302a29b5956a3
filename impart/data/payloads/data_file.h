#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impart/core/file.h"

namespace impart::data {

/// How many bytes a file can have, as its first ones tell: 1 MiB of them, or all.
using MostBytes = std::uint64_t(std::span<const std::byte> front);
/// For files without a header: as much as is worth unpacking into memory.
MostBytes any_plausible_bytes;

/// A file of a data set, found under the set's root, unpacked where it is compressed.
class DataFile {
 public:
  /// Opens `root`/`name`, or else `root`/`name`.gz, which must be one whole gzip stream. If there
  /// is neither, the DataError says which file was looked for and gives `advice` on getting it. A
  /// stream that unpacks to more than `most_bytes` of its first bytes is a DataError, too.
  DataFile(const std::string& root, std::string_view name, std::string_view advice,
           MostBytes* most_bytes = any_plausible_bytes);

  const std::string& path() const { return file_.path(); }
  /// Whether the file is compressed, so that offsets are not those in the file.
  bool packed() const { return unpacked_; }
  /// The contents, unpacked. Offsets in messages count these bytes.
  std::span<const std::byte> bytes() const { return unpacked_ ? unpacked_bytes_ : file_.bytes(); }

 private:
  InputFile file_;
  bool unpacked_ = false;
  std::vector<std::byte> unpacked_bytes_;
};

}  // namespace impart::data

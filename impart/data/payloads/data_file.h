#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impart/core/file.h"

namespace impart::data {

/// A file of a data set, found under the set's root, unpacked where it is compressed.
class DataFile {
 public:
  /// Opens `root`/`name`, or else `root`/`name`.gz, which must be one whole gzip stream. If there
  /// is neither, the DataError says which file was looked for and gives `advice` on getting it.
  DataFile(const std::string& root, std::string_view name, std::string_view advice);

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

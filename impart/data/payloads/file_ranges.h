#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "impart/data/payloads/payload_source.h"

namespace impart::data {

/// Paths of many files under one folder, a few bytes more each than their names have.
class FileNames {
 public:
  /// `folder` stands before all names, with a slash between.
  explicit FileNames(std::string folder) : folder_(std::move(folder)) {}

  void append(std::string_view name) {
    names_ += name;
    ends_.push_back(names_.size());
  }
  const std::string& folder() const { return folder_; }
  std::size_t size() const { return ends_.size(); }
  std::string_view name(std::size_t i) const {
    const std::uint64_t start = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(names_).substr(start, ends_[i] - start);
  }
  std::string path(std::size_t i) const { return folder_ + '/' + std::string(name(i)); }

 private:
  std::string folder_, names_;
  std::vector<std::uint64_t> ends_;
};

/// Where one payload lies.
struct FileRange {
  std::uint64_t offset = 0;
  std::uint32_t file = 0;  ///< index into the file names
  std::uint32_t bytes = 0;
};

struct FileRangesSpec {
  FileNames files;
  std::vector<FileRange> ranges = {};  ///< one per example
  std::uint32_t open_files = 256;      ///< that are kept open at most, besides those being read
  bool are_whole_files = false;        ///< describe() then gives paths without offsets
};

/// Payloads that are pieces of files. A read opens the file unless it is one of the last used ones,
/// and reads just the payload (pread). 16 bytes per example and the file names are in memory.
///
/// DataError names the file, and the byte where it ends too early.
std::shared_ptr<const PayloadSource> make_file_range_source(FileRangesSpec spec);

}  // namespace impart::data

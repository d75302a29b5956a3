#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "impart/data/remote/object_reader.h"

namespace impart::data {

/// Beside an index: the XXH3 of the small files that describe a data set, so that one that arrives
/// damaged is noticed.
inline constexpr const char* kSumsName = "sums.json";

/// The text of sums.json: name of a file → its XXH3, 16 hex digits.
using FileSums = std::map<std::string, std::string>;
std::string file_sums_text(const FileSums& sums);
/// DataError if it is something else; `place` is for messages.
FileSums parse_file_sums(std::string_view text, const std::string& place);

/// The small files of a folder on a server, each fetched whole, and checked where there is a
/// sums.json: what is damaged is fetched again, a few times. Errors as of ObjectReader, and
/// DataError if a file stays damaged.
class ListedFiles {
 public:
  /// Fetches sums.json, if there is one.
  explicit ListedFiles(ObjectReader& reader);

  std::vector<std::byte> fetch(const std::string& name);
  std::optional<std::vector<std::byte>> fetch_if_there(const std::string& name);

  /// Those of the names that are there as files of a folder that goes away with this.
  class Copy;
  Copy copy(std::initializer_list<const char*> names);

 private:
  void fetch_sums();

  ObjectReader& reader_;
  std::optional<FileSums> sums_;
};

/// A temporary folder of copies.
class ListedFiles::Copy {
 public:
  explicit Copy(std::string path, std::string folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}
  ~Copy();
  Copy(Copy&& other) noexcept
      : path_(std::exchange(other.path_, "")), folder_(std::move(other.folder_)) {}
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  Copy& operator=(Copy&&) = delete;

  const std::string& path() const { return path_; }
  /// A message about a copy as one about the original.
  std::string about_original(std::string message) const;

 private:
  std::string path_, folder_;
};

}  // namespace impart::data

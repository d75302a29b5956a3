#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "impart/data/images/datasets.h"

namespace impart::data {

/// The file that lists a folder of photographs, in its root: what a server cannot be asked for.
inline constexpr const char* kFolderIndexName = "index.csv";

/// A line of it.
struct IndexedPhoto {
  std::string path;  ///< below the root: train/CLASS/…, val/CLASS/… or test/CLASS/…
  std::uint64_t bytes = 0;
  std::string label;      ///< the name of its class
  std::string hash = {};  ///< XXH3 of the file, 16 hex digits; empty: not known
};

/// CSV with the header "path,bytes,label,xxh3_64".
std::string folder_index_text(const std::vector<IndexedPhoto>& photos);
/// The column of hashes may be missing, others are ignored. DataError with the line: no such
/// columns, a number that is none, a path that leads out of the folder, a hash that is none.
std::vector<IndexedPhoto> parse_folder_index(std::string_view text, const std::string& place);

/// Class folders on a server that has an index.csv. Examples and classes are those of the same
/// folder on a disk, in the same order.
ExampleData open_remote_imagefolder(const DataSpec& spec);

}  // namespace impart::data

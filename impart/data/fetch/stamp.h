#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "impart/core/progress.h"
#include "impart/data/fetch/unpack.h"

namespace impart::data {

/// What a fetch has put into a folder: `DEST/.fetched-SET.json`, see docs/formats.md.
struct FetchStamp {
  std::map<std::string, std::string> sources;  ///< downloaded file → its SHA-256
  std::vector<FetchedFile> files;              ///< what the loader reads

  bool lists(const std::string& name) const;
};

/// Nothing if there is no stamp, or none that can be understood.
std::optional<FetchStamp> read_stamp(const std::string& path);
/// IoError if it cannot be written.
void write_stamp(const std::string& path, const FetchStamp& stamp);

/// Whether all files of the stamp are in the folder with their sizes and sums. Reads them all,
/// unless a size is wrong already.
bool files_are_intact(const FetchStamp& stamp, const std::string& folder,
                      const Progress& progress = {});

}  // namespace impart::data

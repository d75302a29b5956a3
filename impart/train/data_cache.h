#pragma once

#include <cstddef>
#include <list>
#include <mutex>
#include <string>

#include "impart/config/config.h"
#include "impart/feed/own_data.h"

namespace impart::train {

/// The data sets that the last runs of this process have read, for those that follow: in memory,
/// and their images on the device. May be used by several threads.
class DataCache {
 public:
  /// Keeps at most so many sets besides those that runs still use.
  explicit DataCache(std::size_t most) : most_(most) {}

  /// What load_run_data returns, read only the first time.
  feed::LoadedData load(const config::RunConfig& config);

 private:
  struct Entry {
    std::string key;
    feed::LoadedData data;
  };

  std::mutex mutex_;
  std::size_t most_;
  std::list<Entry> entries_;  ///< the last used first
};

}  // namespace impart::train

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace impart::store {

/// The name of the file that a process locks in its folder of a cache.
inline constexpr const char* kCacheLockName = "taken";

/// The folder of a process in the folder of a cache: `process-NNNN`.
std::string cache_folder(const std::string& path, std::uint32_t process);

/// What a process's folder of a cache holds.
struct CacheFolder {
  std::string folder = {};
  std::string data_id = {};    ///< of the data set that the payloads are of
  std::uint64_t examples = 0;  ///< of that data set
  std::uint64_t payloads = 0, bytes = 0;
  std::uint64_t damaged = 0;  ///< payloads without their hash; 0 if nobody looked
  bool in_use = false;
  bool was_closed = false;  ///< in order: else the next run checks every payload
};

/// The folders of processes in the folder of a cache, in the order of their names; with `verify`
/// every payload is read. Nothing is changed. DataError if the path is no folder of a cache or a
/// journal is damaged.
std::vector<CacheFolder> look_at_cache(const std::string& path, bool verify);

/// Removes the files of a cache, and its folder if nothing else is in it; how many folders of
/// processes it had. ConfigError, with nothing removed, if one is in use; DataError as above.
std::uint64_t clear_cache(const std::string& path);

}  // namespace impart::store

#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace impart::data {

/// A file opened for reading; closed with the last reference to it.
class OpenFile {
 public:
  /// DataError with the system's reason if it cannot be opened.
  explicit OpenFile(const std::string& path);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// The files that were used last, kept open. Thread-safe; a file that leaves the pool stays open
/// for whoever still reads it.
class OpenFiles {
 public:
  explicit OpenFiles(std::size_t most) : most_(most) {}

  /// The file of that number, opened if it is not open; `path()` says where it is.
  template <class Path>
  std::shared_ptr<const OpenFile> get(std::uint32_t file, const Path& path) {
    if (std::shared_ptr<const OpenFile> open = find(file)) return open;
    return keep(file, std::make_shared<const OpenFile>(path()));
  }

  std::size_t size() const;

 private:
  using Used = std::list<std::pair<std::uint32_t, std::shared_ptr<const OpenFile>>>;

  std::shared_ptr<const OpenFile> find(std::uint32_t file);
  std::shared_ptr<const OpenFile> keep(std::uint32_t file, std::shared_ptr<const OpenFile> open);

  mutable std::mutex mutex_;
  std::size_t most_;
  Used used_;  ///< the last used first
  std::unordered_map<std::uint32_t, Used::iterator> places_;
};

}  // namespace impart::data

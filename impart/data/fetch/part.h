#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace impart::data {

/// What a server says to tell one version of a file from another; empty where it says nothing.
struct FileVersion {
  std::string etag;
  std::string last_modified;

  bool operator==(const FileVersion&) const = default;
};

/// A download that may not be complete: the first bytes of a file and, in PATH.version beside it,
/// the version that they are of. It stays when the process ends, unless there is no byte in it.
class PartFile {
 public:
  /// Opens what is there, or begins a new one. IoError if neither can be.
  explicit PartFile(std::string path);
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  const FileVersion& version() const { return version_; }
  /// Bytes appended by this object, those counted that a restart has forgotten.
  std::uint64_t appended() const { return appended_; }

  /// Forgets all bytes; those to come are of that version.
  void restart(const FileVersion& version);
  /// IoError, for example if the disk is full; what was written until then stays.
  void append(std::span<const std::byte> bytes);
  void sync();

 private:
  [[noreturn]] void fail(std::string_view what) const;

  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::uint64_t appended_ = 0;
  FileVersion version_;
};

/// Removes a part and its version, if they are there.
void remove_part(const std::string& path);

}  // namespace impart::data

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace impart::run {

/// A file that grows at its end. Every append reaches the operating system before it returns, so a
/// process that dies loses nothing; a machine that dies loses what was not synced.
class AppendFile {
 public:
  enum class Mode {
    kKeep,      ///< create it, or go on at the end of what is there
    kMustBeNew  ///< fail if it exists
  };
  /// IoError if the file cannot be opened or created.
  explicit AppendFile(std::string path, Mode mode = Mode::kKeep);
  ~AppendFile();
  AppendFile(AppendFile&& other) noexcept;
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;
  AppendFile& operator=(AppendFile&&) = delete;

  const std::string& path() const { return path_; }

  /// IoError, for example if the disk is full.
  void append(std::string_view bytes);
  /// Cuts the file to its first `size` bytes.
  void truncate(std::uint64_t size);
  /// Returns when the disk has it all.
  void sync();

 private:
  [[noreturn]] void fail(std::string_view what) const;

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace impart::run

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace impart {

/// The bytes of a file, for reading. Regular files are mapped, so a big array costs no copy; what
/// comes through a pipe, as of `<(zcat scores.csv.gz)`, is kept in memory.
class InputFile {
 public:
  /// More does not fit through a pipe.
  static constexpr std::size_t kMostPipedBytes = std::size_t{1} << 29;

  /// DataError if the file cannot be opened or read, or is a device or a folder.
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  InputFile& operator=(InputFile&&) = delete;

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }

 private:
  std::string path_;
  std::span<const std::byte> bytes_;
  bool mapped_ = false;
  std::vector<std::byte> buffer_;
};

/// Returns when the disk knows which names are in a folder: after a file was made or renamed there.
/// "" is the working folder. Folders that may not be opened, and file systems that cannot sync
/// them, are passed over. IoError if the disk fails.
void sync_folder(const std::string& folder);

/// Writes a file that others see complete or not at all: into a temporary neighbour, which commit()
/// syncs and renames. Without commit() nothing is left behind, and a file of that name stays as it
/// was. A path that exists and is no regular file (a pipe, /dev/stdout) is written to directly.
class OutputFile {
 public:
  /// IoError if the file cannot be created.
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// IoError, for example if the disk is full.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();

 private:
  void flush();
  [[noreturn]] void fail(std::string_view what) const;

  std::string path_;
  std::string temporary_;  ///< empty when writing directly
  int descriptor_ = -1;
  std::vector<std::byte> buffer_;
};

/// A folder and those above it; nothing if it is there. IoError if it cannot be made.
void make_folder(const std::string& path);

/// A whole file at once, by an OutputFile.
void write_file(const std::string& path, std::span<const std::byte> bytes);
void write_file(const std::string& path, std::string_view text);

}  // namespace impart

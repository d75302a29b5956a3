#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace impart::store {

/// A file that is read and written at given places, with pread(2) and pwrite(2) only, so that what
/// it counts is what /proc/self/io sees. Reading is thread-safe.
class PositionedFile {
 public:
  enum class Mode { kOpen, kOpenOrCreate, kCreateAnew };
  /// IoError if the file cannot be opened or created.
  PositionedFile(std::string path, Mode mode);
  ~PositionedFile();
  PositionedFile(PositionedFile&& other) noexcept;
  PositionedFile& operator=(PositionedFile&& other) noexcept;
  PositionedFile(const PositionedFile&) = delete;
  PositionedFile& operator=(const PositionedFile&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t size() const;

  /// How many bytes were there to read, fewer than asked for only at the end of the file.
  /// DataError if the disk cannot read.
  std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) const;
  /// IoError, for example if the disk is full; some of the bytes may have been written.
  void write(std::uint64_t offset, std::span<const std::byte> bytes);
  void truncate(std::uint64_t size);
  /// Returns when the disk has it all.
  void sync();
  /// Renames the file; IoError if that fails.
  void rename(const std::string& path);
  /// Takes the file for this process alone, or waits up to 2 s for who has it to end. ConfigError
  /// if it does not. Ends with this object.
  void lock();
  /// The same without waiting: whether it is this process's now.
  bool try_lock();

  /// Bytes read and written since the file was opened.
  std::uint64_t bytes_read() const { return bytes_read_.load(std::memory_order_relaxed); }
  std::uint64_t bytes_written() const { return bytes_written_; }

 private:
  [[noreturn]] void fail(std::string_view what) const;

  std::string path_;
  int descriptor_ = -1;
  mutable std::atomic<std::uint64_t> bytes_read_ = 0;
  std::uint64_t bytes_written_ = 0;
};

}  // namespace impart::store

#include "impart/store/positioned_file.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "impart/core/error.h"

namespace impart::store {
namespace {

constexpr auto kLockLimit = std::chrono::seconds(2);
constexpr auto kLockPause = std::chrono::milliseconds(10);

int flags_of(PositionedFile::Mode mode) {
  if (mode == PositionedFile::Mode::kOpen) return O_RDWR | O_CLOEXEC;
  const int anew = mode == PositionedFile::Mode::kCreateAnew ? O_EXCL | O_NOFOLLOW : 0;
  return O_RDWR | O_CLOEXEC | O_CREAT | anew;
}

}  // namespace

PositionedFile::PositionedFile(std::string path, Mode mode) : path_(std::move(path)) {
  if (mode == Mode::kCreateAnew) ::unlink(path_.c_str());  // what a killed process left
  descriptor_ = ::open(path_.c_str(), flags_of(mode), 0666);
  if (descriptor_ < 0) fail("cannot open");
}

PositionedFile::~PositionedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

PositionedFile::PositionedFile(PositionedFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      bytes_read_(other.bytes_read()),
      bytes_written_(other.bytes_written_) {}

PositionedFile& PositionedFile::operator=(PositionedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  bytes_read_ = other.bytes_read_.exchange(bytes_read_);
  std::swap(bytes_written_, other.bytes_written_);
  return *this;
}

std::uint64_t PositionedFile::size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) fail("cannot look at");
  return static_cast<std::uint64_t>(status.st_size);
}

std::size_t PositionedFile::read(std::uint64_t offset, std::span<std::byte> bytes) const {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::pread(descriptor_, bytes.data() + done, bytes.size() - done,
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw DataError(
          fmt::format("{}: offset {}: cannot read: {}", path_, offset, std::strerror(errno)));
    }
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes_read_.fetch_add(done, std::memory_order_relaxed);
  return done;
}

void PositionedFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot write");
    const auto done = static_cast<std::size_t>(written);
    bytes_written_ += done;
    bytes = bytes.subspan(done);
    offset += done;
  }
}

void PositionedFile::truncate(std::uint64_t size) {
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) fail("cannot truncate");
}

void PositionedFile::sync() {
  if (::fdatasync(descriptor_) != 0) fail("cannot sync");
}

void PositionedFile::rename(const std::string& path) {
  if (::rename(path_.c_str(), path.c_str()) != 0) fail("cannot rename");
  path_ = path;
}

bool PositionedFile::try_lock() {
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return true;
  if (errno != EWOULDBLOCK && errno != EINTR) fail("cannot lock");
  return false;
}

void PositionedFile::lock() {
  const auto limit = std::chrono::steady_clock::now() + kLockLimit;
  while (!try_lock()) {
    if (std::chrono::steady_clock::now() > limit) {
      throw ConfigError(fmt::format("{}: another process is using it", path_));
    }
    std::this_thread::sleep_for(kLockPause);
  }
}

void PositionedFile::fail(std::string_view what) const {
  throw IoError(fmt::format("{}: {}: {}", path_, what, std::strerror(errno)));
}

}  // namespace impart::store

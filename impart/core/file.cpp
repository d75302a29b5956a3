#include "impart/core/file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "impart/core/error.h"

namespace impart {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  ~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

void check_kind(mode_t mode, const std::string& path) {
  if (S_ISREG(mode) || S_ISFIFO(mode)) return;
  throw DataError(fmt::format("{}: cannot read: is a {}, not a file", path,
                              S_ISDIR(mode) ? "folder" : "device"));
}

std::vector<std::byte> read_to_end(int descriptor, const std::string& path) {
  std::vector<std::byte> bytes;
  while (true) {
    if (bytes.size() > InputFile::kMostPipedBytes) {
      throw DataError(fmt::format("{}: over {} MiB came through a pipe: write them to a file first",
                                  path, InputFile::kMostPipedBytes >> 20));
    }
    const std::size_t old_size = bytes.size();
    bytes.resize(old_size + kBufferBytes);
    const ssize_t got = ::read(descriptor, bytes.data() + old_size, kBufferBytes);
    if (got < 0 && errno != EINTR) {
      throw DataError(fmt::format("{}: cannot read: {}", path, std::strerror(errno)));
    }
    bytes.resize(old_size + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return bytes;
  }
}

/// A file of our own making: not one that somebody put or linked there. What a killed process of
/// the same number left is taken away.
int create_temporary(const std::string& path) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const int descriptor = ::open(path.c_str(), kFlags, 0666);
  if (descriptor >= 0 || errno != EEXIST || ::unlink(path.c_str()) != 0) return descriptor;
  return ::open(path.c_str(), kFlags, 0666);
}

}  // namespace

void sync_folder(const std::string& folder) {
  const std::string path = folder.empty() ? "." : folder;
  const Descriptor opened(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() < 0 && errno == EACCES) return;
  const bool synced = opened.get() >= 0 && ::fsync(opened.get()) == 0;
  if (synced || errno == EINVAL || errno == EROFS) return;
  throw IoError(fmt::format("{}: cannot sync: {}", path, std::strerror(errno)));
}

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  const Descriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) {
    throw DataError(fmt::format("{}: cannot open: {}", path_, std::strerror(errno)));
  }
  check_kind(status.st_mode, path_);
  if (S_ISREG(status.st_mode) && status.st_size > 0) {
    const auto size = static_cast<std::size_t>(status.st_size);
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (address == MAP_FAILED) {
      throw DataError(fmt::format("{}: cannot map: {}", path_, std::strerror(errno)));
    }
    bytes_ = {static_cast<const std::byte*>(address), size};
    mapped_ = true;
    return;
  }
  buffer_ = read_to_end(file.get(), path_);
  bytes_ = buffer_;
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      bytes_(std::exchange(other.bytes_, {})),
      mapped_(std::exchange(other.mapped_, false)),
      buffer_(std::move(other.buffer_)) {}

InputFile::~InputFile() {
  if (mapped_) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  struct stat status {};
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    fail("cannot write");
  }
  if (exists && !S_ISREG(status.st_mode)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    temporary_ = fmt::format("{}.{}.tmp", path_, ::getpid());
    descriptor_ = create_temporary(temporary_);
    if (descriptor_ < 0) temporary_.clear();
    if (descriptor_ >= 0 && exists) ::fchmod(descriptor_, status.st_mode);
  }
  if (descriptor_ < 0) fail("cannot create");
  buffer_.reserve(kBufferBytes);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t room = kBufferBytes - buffer_.size();
    const auto part = bytes.first(std::min(room, bytes.size()));
    buffer_.insert(buffer_.end(), part.begin(), part.end());
    bytes = bytes.subspan(part.size());
    if (buffer_.size() == kBufferBytes) flush();
  }
}

void OutputFile::flush() {
  std::span<const std::byte> left = buffer_;
  while (!left.empty()) {
    const ssize_t written = ::write(descriptor_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot write");
    left = left.subspan(static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

void OutputFile::commit() {
  flush();
  if (!temporary_.empty() && ::fsync(descriptor_) != 0) fail("cannot sync");
  if (::close(std::exchange(descriptor_, -1)) != 0) fail("cannot close");
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot rename to");
  temporary_.clear();
  sync_folder(std::filesystem::path(path_).parent_path().string());
}

void OutputFile::fail(std::string_view what) const {
  throw IoError(fmt::format("{}: {}: {}", path_, what, std::strerror(errno)));
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw IoError(fmt::format("{}: cannot create: {}", path, error.message()));
}

void write_file(const std::string& path, std::span<const std::byte> bytes) {
  OutputFile file(path);
  file.write(bytes);
  file.commit();
}

void write_file(const std::string& path, std::string_view text) {
  write_file(path, std::as_bytes(std::span(text)));
}

}  // namespace impart

#include "impart/run/append_file.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "impart/core/error.h"

namespace impart::run {

AppendFile::AppendFile(std::string path, Mode mode) : path_(std::move(path)) {
  const int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC;
  const int exclusive = mode == Mode::kMustBeNew ? O_EXCL : 0;
  descriptor_ = ::open(path_.c_str(), flags | exclusive, 0666);
  if (descriptor_ < 0) fail("cannot open for writing");
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

AppendFile::~AppendFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void AppendFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot write");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void AppendFile::truncate(std::uint64_t size) {
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) fail("cannot truncate");
}

void AppendFile::sync() {
  if (::fsync(descriptor_) != 0) fail("cannot sync");
}

void AppendFile::fail(std::string_view what) const {
  throw IoError(fmt::format("{}: {}: {}", path_, what, std::strerror(errno)));
}

}  // namespace impart::run

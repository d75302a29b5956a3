#include "impart/data/fetch/part.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "impart/core/error.h"
#include "impart/core/file.h"

namespace impart::data {
namespace {

std::string version_path(const std::string& part) {
  return part + ".version";
}

/// Two lines: the ETag and the time of the last change, as the server gave them.
FileVersion read_version(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  const InputFile file(path);
  const std::string_view text = file.text();
  const std::size_t first_end = text.find('\n');
  if (first_end == std::string_view::npos) return {};
  const std::string_view rest = text.substr(first_end + 1);
  return {.etag = std::string(text.substr(0, first_end)),
          .last_modified = std::string(rest.substr(0, rest.find('\n')))};
}

/// Not through OutputFile, whose temporary file a killed process would leave behind. Half a version
/// equals none, so that nothing worse comes of it than a download from the beginning.
void write_version(const std::string& path, const FileVersion& version) {
  ::unlink(path.c_str());
  std::ofstream(path) << version.etag << '\n' << version.last_modified << '\n';
}

}  // namespace

PartFile::PartFile(std::string path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail("cannot create");
  const off_t end = ::lseek(descriptor_, 0, SEEK_END);
  size_ = end < 0 ? 0 : static_cast<std::uint64_t>(end);
  if (size_ > 0) version_ = read_version(version_path(path_));
}

PartFile::~PartFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (size_ == 0) remove_part(path_);
}

void PartFile::restart(const FileVersion& version) {
  if (size_ > 0 && ::ftruncate(descriptor_, 0) != 0) fail("cannot truncate");
  size_ = 0;
  version_ = version;
  write_version(version_path(path_), version);
}

void PartFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot write");
    size_ += static_cast<std::uint64_t>(written);
    appended_ += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void PartFile::sync() {
  if (::fsync(descriptor_) != 0) fail("cannot sync");
}

void PartFile::fail(std::string_view what) const {
  throw IoError(fmt::format("{}: {}: {}", path_, what, std::strerror(errno)));
}

void remove_part(const std::string& path) {
  ::unlink(path.c_str());
  ::unlink(version_path(path).c_str());
}

}  // namespace impart::data

#include "impart/data/payloads/open_files.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "impart/core/error.h"

namespace impart::data {

OpenFile::OpenFile(const std::string& path) {
  do {
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  } while (descriptor_ < 0 && errno == EINTR);
  if (descriptor_ < 0) {
    throw DataError(fmt::format("{}: cannot open: {}", path, std::strerror(errno)));
  }
  struct stat status {};
  if (::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode)) return;
  ::close(descriptor_);
  throw DataError(fmt::format("{}: cannot read: is no regular file", path));
}

OpenFile::~OpenFile() {
  ::close(descriptor_);
}

std::size_t OpenFiles::size() const {
  const std::lock_guard lock(mutex_);
  return used_.size();
}

std::shared_ptr<const OpenFile> OpenFiles::find(std::uint32_t file) {
  const std::lock_guard lock(mutex_);
  const auto place = places_.find(file);
  if (place == places_.end()) return nullptr;
  used_.splice(used_.begin(), used_, place->second);
  return place->second->second;
}

std::shared_ptr<const OpenFile> OpenFiles::keep(std::uint32_t file,
                                                std::shared_ptr<const OpenFile> open) {
  std::shared_ptr<const OpenFile> closed;  // outside the lock
  const std::lock_guard lock(mutex_);
  if (most_ == 0 || places_.contains(file)) return open;  // another thread opened it meanwhile
  if (used_.size() == most_) {
    closed = std::move(used_.back().second);
    places_.erase(used_.back().first);
    used_.pop_back();
  }
  used_.emplace_front(file, open);
  places_.emplace(file, used_.begin());
  return open;
}

}  // namespace impart::data

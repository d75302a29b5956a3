#include "impart/data/fetch/folder.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "impart/core/error.h"

namespace impart::data {

namespace fs = std::filesystem;

Destination::Destination(fs::path path) : path_(std::move(path)) {
  std::error_code error;
  was_made_ = fs::create_directories(path_, error);
  if (error) throw IoError(fmt::format("{}: cannot make: {}", path_.string(), error.message()));
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) {
    throw IoError(fmt::format("{}: cannot open: {}", path_.string(), std::strerror(errno)));
  }
  // File systems without locks are no reason to refuse.
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(descriptor_);
    throw IoError(fmt::format("{}: another fetch is filling this folder", path_.string()));
  }
}

Destination::~Destination() {
  ::close(descriptor_);
  if (was_made_) ::rmdir(path_.c_str());  // fails, as it should, where there are files
}

ScratchFolder::ScratchFolder(fs::path path) : path_(std::move(path)) {
  std::error_code error;
  fs::remove_all(path_, error);
  fs::create_directory(path_, error);
  if (error) throw IoError(fmt::format("{}: cannot make: {}", path_.string(), error.message()));
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace impart::data

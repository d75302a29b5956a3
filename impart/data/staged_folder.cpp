#include "impart/data/staged_folder.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "impart/core/error.h"

namespace impart {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const char* what, int error) {
  throw IoError(fmt::format("{}: {}: {}", path, what, std::strerror(error)));
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

void sync_folder(const fs::path& folder) {
  const std::string path = folder.empty() ? "." : folder.string();
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;  // others' folders may be closed to us; the rename has happened
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

StagedFolder::StagedFolder(std::string destination, bool replace)
    : destination_(without_slashes(std::move(destination))),
      staging_(fmt::format("{}.{}.tmp", destination_, ::getpid())),
      replace_(replace) {
  std::error_code error;
  if (!replace_ && fs::exists(fs::symlink_status(destination_, error))) {
    throw ConfigError(fmt::format("{}: exists already", destination_));
  }
  const fs::path parent = fs::path(destination_).parent_path();
  if (!parent.empty() && !fs::create_directories(parent, error) && error) {
    fail(parent.string(), "cannot create", error.value());
  }
  if (!fs::create_directory(staging_, error)) {
    fail(staging_, "cannot create", error ? error.value() : EEXIST);
  }
}

StagedFolder::~StagedFolder() {
  std::error_code ignored;
  if (!staging_.empty()) fs::remove_all(staging_, ignored);
}

void StagedFolder::commit() {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(staging_)) {
    if (entry.is_directory()) sync_folder(entry.path());
  }
  sync_folder(staging_);
  // Exchanging the names leaves the old folder under the temporary one, which goes away.
  const unsigned flags = replace_ ? RENAME_EXCHANGE : RENAME_NOREPLACE;
  int done = ::renameat2(AT_FDCWD, staging_.c_str(), AT_FDCWD, destination_.c_str(), flags);
  if (done != 0 && errno == ENOENT && replace_) {
    done =
        ::renameat2(AT_FDCWD, staging_.c_str(), AT_FDCWD, destination_.c_str(), RENAME_NOREPLACE);
    if (done == 0) staging_.clear();
  } else if (done == 0 && !replace_) {
    staging_.clear();
  }
  if (done != 0) fail(destination_, "cannot rename to", errno);
  sync_folder(fs::path(destination_).parent_path());
  std::error_code ignored;
  if (!staging_.empty()) fs::remove_all(std::exchange(staging_, ""), ignored);
}

}  // namespace impart

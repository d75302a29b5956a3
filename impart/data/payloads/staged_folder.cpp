#include "impart/data/payloads/staged_folder.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "impart/core/error.h"

namespace impart::data {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const char* what, int error) {
  throw IoError(fmt::format("{}: {}: {}", path, what, std::strerror(error)));
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

/// Whether the file system knows no renames but the plain one.
bool is_unsupported(int error) {
  return error == EINVAL || error == ENOSYS;
}

void sync_folder(const fs::path& folder) {
  const std::string path = folder.empty() ? "." : folder.string();
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;  // others' folders may be closed to us; the rename has happened
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

StagedFolder::StagedFolder(StagedFolderSpec spec) : spec_(std::move(spec)) {
  spec_.destination = without_slashes(std::move(spec_.destination));
  const std::string& destination = spec_.destination;
  if (!spec_.replace && is_there(destination)) {
    throw ConfigError(fmt::format("{}: exists already", destination));
  }
  std::error_code error;
  const fs::path parent = fs::path(destination).parent_path();
  if (!parent.empty() && !fs::create_directories(parent, error) && error) {
    fail(parent.string(), "cannot create", error.value());
  }
  const std::string staging = fmt::format("{}.{}.tmp", destination, ::getpid());
  if (!fs::create_directory(staging, error)) {
    fail(staging, "cannot create", error ? error.value() : EEXIST);
  }
  staging_ = staging;
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
  if (!spec_.replace || !is_there(spec_.destination)) {
    move_in();
  } else if (!exchange()) {
    replace_stepwise();
  }
  sync_folder(fs::path(spec_.destination).parent_path());
}

void StagedFolder::move_in() {
  int failed = ::renameat2(AT_FDCWD, staging_.c_str(), AT_FDCWD, spec_.destination.c_str(),
                           RENAME_NOREPLACE);
  if (failed != 0 && is_unsupported(errno)) {
    failed = ::rename(staging_.c_str(), spec_.destination.c_str());
  }
  if (failed != 0) fail(spec_.destination, "cannot rename to", errno);
  staging_.clear();
}

/// The old folder gets the temporary name, and goes away with it. False if that is not possible
/// here.
bool StagedFolder::exchange() {
  if (!spec_.at_once) return false;
  if (::renameat2(AT_FDCWD, staging_.c_str(), AT_FDCWD, spec_.destination.c_str(),
                  RENAME_EXCHANGE) != 0) {
    if (is_unsupported(errno)) return false;
    fail(spec_.destination, "cannot rename to", errno);
  }
  std::error_code ignored;
  fs::remove_all(std::exchange(staging_, ""), ignored);
  return true;
}

void StagedFolder::replace_stepwise() {
  const std::string old = fmt::format("{}.{}.old", spec_.destination, ::getpid());
  if (::rename(spec_.destination.c_str(), old.c_str()) != 0) {
    fail(spec_.destination, "cannot move away", errno);
  }
  try {
    move_in();
  } catch (const IoError&) {
    ::rename(old.c_str(), spec_.destination.c_str());
    throw;
  }
  std::error_code ignored;
  fs::remove_all(old, ignored);
}

}  // namespace impart::data

#include "impart/core/file_lock.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "impart/core/error.h"

namespace impart {

FileLock::FileLock(FileLockSpec spec) : spec_(std::move(spec)) {
  const int at_exec = spec_.inherited ? 0 : O_CLOEXEC;
  descriptor_ = ::open(spec_.path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | at_exec, 0644);
  if (descriptor_ < 0) fail("cannot open");
}

FileLock::~FileLock() {
  ::close(descriptor_);
}

bool FileLock::try_take() {
  const int kind = spec_.shared ? LOCK_SH : LOCK_EX;
  if (::flock(descriptor_, kind | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  if (spec_.shared && living_holder() != 0) return true;  // who had it first stays named
  std::string text = spec_.title.empty() ? "" : spec_.title + "\n";
  text += fmt::format("{}\n", ::getpid());
  if (::ftruncate(descriptor_, 0) != 0) fail("cannot write");
  const ssize_t written = ::pwrite(descriptor_, text.data(), text.size(), 0);
  if (written != static_cast<ssize_t>(text.size())) fail("cannot write");
  return true;
}

pid_t FileLock::living_holder() const {
  std::array<char, 256> bytes{};
  const ssize_t got = ::pread(descriptor_, bytes.data(), bytes.size(), 0);
  if (got <= 0 || bytes[static_cast<std::size_t>(got) - 1] != '\n') return 0;
  std::string_view text(bytes.data(), static_cast<std::size_t>(got) - 1);
  text.remove_prefix(text.rfind('\n') + 1);  // npos + 1 is 0: there is one line
  pid_t pid = 0;
  std::from_chars(text.data(), text.data() + text.size(), pid);
  return pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM) ? pid : 0;
}

bool FileLock::is_in_place() const {
  struct stat named {};
  struct stat opened {};
  return ::lstat(spec_.path.c_str(), &named) == 0 && ::fstat(descriptor_, &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

bool FileLock::is_held(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool held = ::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(descriptor);
  return held;
}

void FileLock::fail(const char* what) const {
  throw IoError(fmt::format("{}: {}: {}", spec_.path, what, std::strerror(errno)));
}

}  // namespace impart

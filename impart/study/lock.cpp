#include "impart/study/lock.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "impart/core/error.h"
#include "impart/study/state.h"

namespace impart::study {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kRetry = std::chrono::milliseconds(20);

std::string lock_path(const std::string& directory) {
  return directory + "/study.lock";
}

/// The process that wrote itself into the lock; 0 if none did, or it is gone.
pid_t living_owner(const std::string& path) {
  const int pid = std::atoi(last_line(path).c_str());
  return pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM) ? pid : 0;
}

}  // namespace

StudyLock::StudyLock(const std::string& directory, double patience,
                     const std::function<void()>& waiting) {
  const std::string path = lock_path(directory);
  // Not close-on-exec: children hold the lock, too.
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT, 0644);  // NOLINT
  if (descriptor_ < 0)
    throw IoError(fmt::format("{}: cannot open: {}", path, std::strerror(errno)));
  const auto limit = Clock::now() + std::chrono::duration<double>(patience);
  bool told = false;
  while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const pid_t owner = living_owner(path);
    if (owner != 0 || Clock::now() > limit) {
      ::close(descriptor_);
      const std::string who =
          owner != 0 ? fmt::format("process {}", owner) : "runs of a process that was killed";
      throw ConfigError(fmt::format("{}: the study is being run by {}; see how it is with --status",
                                    directory, who));
    }
    if (!told && waiting) waiting();
    told = true;
    std::this_thread::sleep_for(kRetry);
  }
  const std::string text = fmt::format("{}\n", ::getpid());
  const bool written =
      ::ftruncate(descriptor_, 0) == 0 &&
      ::pwrite(descriptor_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  if (!written) {
    const std::string reason = std::strerror(errno);
    ::close(descriptor_);
    throw IoError(fmt::format("{}: cannot write: {}", path, reason));
  }
}

StudyLock::~StudyLock() {
  ::close(descriptor_);
}

bool StudyLock::is_held(const std::string& directory) {
  const int descriptor = ::open(lock_path(directory).c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool free = ::flock(descriptor, LOCK_SH | LOCK_NB) == 0;
  ::close(descriptor);
  return !free;
}

}  // namespace impart::study

#include "impart/study/lock.h"

#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::study {
namespace {

using LockClock = std::chrono::steady_clock;
constexpr auto kRetry = std::chrono::milliseconds(20);

std::string lock_path(const std::string& directory) {
  return directory + "/study.lock";
}

}  // namespace

StudyLock::StudyLock(const std::string& directory, double patience,
                     const std::function<void()>& waiting)
    : lock_({.path = lock_path(directory), .inherited = true}) {
  const auto limit = LockClock::now() + std::chrono::duration<double>(patience);
  bool told = false;
  while (!lock_.try_take()) {
    const pid_t owner = lock_.living_holder();
    if (owner != 0 || LockClock::now() > limit) {
      const std::string who =
          owner != 0 ? fmt::format("process {}", owner) : "runs of a process that was killed";
      throw ConfigError(fmt::format("{}: the study is being run by {}; see how it is with --status",
                                    directory, who));
    }
    if (!told && waiting) waiting();
    told = true;
    std::this_thread::sleep_for(kRetry);
  }
}

bool StudyLock::is_held(const std::string& directory) {
  return FileLock::is_held(lock_path(directory));
}

}  // namespace impart::study

#include "impart/study/lock.h"

#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::study {
namespace {

using LockClock = std::chrono::steady_clock;
constexpr auto kRetry = std::chrono::milliseconds(20);

}  // namespace

StudyLock::StudyLock(const StudyLockSpec& spec)
    : lock_({.path = spec.path, .inherited = true, .shared = spec.shared}) {
  const auto limit = LockClock::now() + std::chrono::duration<double>(spec.patience);
  bool told = false;
  while (!lock_.try_take()) {
    const pid_t owner = lock_.living_holder();
    if (owner != 0 || LockClock::now() > limit) {
      const std::string who = owner != 0 ? fmt::format("process {}", owner)
                                         : "another machine, or runs of a process that was killed";
      throw ConfigError(
          fmt::format("{} is being run by {}; see how it is with --status", spec.what, who));
    }
    if (!told && spec.waiting) spec.waiting();
    told = true;
    std::this_thread::sleep_for(kRetry);
  }
}

bool StudyLock::is_held(const std::string& directory) {
  return FileLock::is_held(path_of(directory));
}

}  // namespace impart::study

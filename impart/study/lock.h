#pragma once

#include <functional>
#include <string>

#include "impart/core/file_lock.h"

namespace impart::study {

/// The right to run the study in a directory: one process at a time has it. It is a lock on
/// directory/study.lock that the operating system lets go of, however the process ends. Children
/// inherit it, so that after their parent was killed nobody starts their runs a second time while
/// they still end.
class StudyLock {
 public:
  /// Takes the lock. If only children of a dead process hold it, waits for them, up to `patience`
  /// seconds; `waiting` is called once. ConfigError if another process runs the study.
  StudyLock(const std::string& directory, double patience, const std::function<void()>& waiting);

  /// Whether a process runs the study now.
  static bool is_held(const std::string& directory);

 private:
  FileLock lock_;
};

}  // namespace impart::study

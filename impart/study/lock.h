#pragma once

#include <functional>
#include <string>

#include "impart/core/file_lock.h"

namespace impart::study {

struct StudyLockSpec {
  std::string path;
  std::string what;                    ///< is being run, for messages: "studies/quick: the study"
  bool shared = false;                 ///< beside others, as tasks of a job array
  double patience = 0;                 ///< seconds to wait for runs of a dead process
  std::function<void()> waiting = {};  ///< called once, if that takes a while
};

/// The right to run a study, or one of its runs: a lock on a file, directory/study.lock of the
/// study, that the operating system lets go of, however the process ends. Children inherit it, so
/// that after their parent was killed nobody starts their runs a second time while they still end.
class StudyLock {
 public:
  /// Takes the lock. If only children of a dead process hold it, waits for them. ConfigError if
  /// another process has it.
  explicit StudyLock(const StudyLockSpec& spec);

  static std::string path_of(const std::string& directory) { return directory + "/study.lock"; }
  /// Whether a process runs the whole study now.
  static bool is_held(const std::string& directory);

 private:
  FileLock lock_;
};

}  // namespace impart::study

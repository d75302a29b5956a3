#pragma once

#include <string>

#include <sys/types.h>

namespace impart {

struct FileLockSpec {
  std::string path;        ///< made if it is not there, and never removed
  std::string title = {};  ///< the file's first line, if any; the holder follows
  bool inherited = false;  ///< children hold the lock, too, until they end
  bool shared = false;     ///< beside others that share it; nobody has it alone meanwhile
};

/// The right to do what one process at a time may do: a lock on a file, exclusive unless it is
/// shared, which the operating system lets go of however the process ends. The file names the
/// process that took it last.
class FileLock {
 public:
  /// Opens the file, without taking the lock. IoError if that cannot be.
  explicit FileLock(FileLockSpec spec);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  /// False if another process has it; does not wait. File systems without locks are no reason to
  /// refuse. IoError if the file cannot be written.
  bool try_take();
  /// The process that took the lock last; 0 if none of that number lives on this machine.
  pid_t living_holder() const;
  /// Whether the path still names the file that was opened: not if it, or a folder on the way to
  /// it, was deleted, moved or replaced.
  bool is_in_place() const;

  /// Whether a process has the lock on that file now, for itself alone.
  static bool is_held(const std::string& path);

 private:
  [[noreturn]] void fail(const char* what) const;

  FileLockSpec spec_;
  int descriptor_ = -1;
};

}  // namespace impart

#pragma once

#include <string>

#include "impart/core/file_lock.h"

namespace impart::run {

/// What is to become of a run that is in the directory already.
enum class EarlierRun {
  kRefuse,  ///< there must be none
  kResume,  ///< it goes on
  kDelete,  ///< its files are deleted
};

/// The right to write a run directory, which one process at a time has. run.lock in it is both the
/// lock and the mark that impart made the directory: the first file that is written there.
class RunDirectory {
 public:
  /// Makes the folder, or takes it over as it is. ConfigError, with nothing changed, if it holds a
  /// run that is to be refused, if another process trains there, or if something is to be deleted
  /// that is not of a run: then the foreign files are named. IoError.
  RunDirectory(const std::string& path, EarlierRun earlier);

  /// IoError if the path no longer names this directory: it was deleted, moved or replaced, and
  /// what is written goes nowhere, or into someone else's files.
  void check_in_place() const;

  /// Whether a process writes the run in that directory now.
  static bool is_written(const std::string& path);

 private:
  std::string path_;
  FileLock lock_;
};

}  // namespace impart::run

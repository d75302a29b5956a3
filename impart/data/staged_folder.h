#pragma once

#include <string>

namespace impart {

/// A folder that others see complete or not at all: filled under a temporary name beside it, and
/// renamed by commit(). Without commit() nothing is left behind, and an old folder of that name
/// stays as it was.
class StagedFolder {
 public:
  /// Makes the temporary folder. ConfigError if there is something of that name already, unless it
  /// is to be replaced. IoError if the folder cannot be made.
  StagedFolder(std::string destination, bool replace);
  ~StagedFolder();
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;

  /// Where to write.
  const std::string& path() const { return staging_; }

  /// Gives the folder its name; the old one, if any, is gone afterwards. IoError if that cannot be.
  void commit();

 private:
  std::string destination_, staging_;
  bool replace_;
};

}  // namespace impart

#pragma once

#include <string>

namespace impart::data {

struct StagedFolderSpec {
  std::string destination;
  bool replace = false;  ///< an old folder of that name
  /// Exchange the names of the old and the new folder at once. Where the file system cannot do that
  /// (NFS), or this is false, there is a moment between two renames without either.
  bool at_once = true;
};

/// A folder that others see complete or not at all: filled under a temporary name beside it, and
/// renamed by commit(). Without commit() nothing is left behind, and an old folder of that name
/// stays as it was.
class StagedFolder {
 public:
  /// Makes the temporary folder. ConfigError if there is something of that name already, unless it
  /// is to be replaced. IoError if the folder cannot be made.
  explicit StagedFolder(StagedFolderSpec spec);
  ~StagedFolder();
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;

  /// Where to write.
  const std::string& path() const { return staging_; }

  /// Gives the folder its name; the old one, if any, is gone afterwards. IoError if that cannot be.
  void commit();

 private:
  bool exchange();
  void replace_stepwise();
  void move_in();

  StagedFolderSpec spec_;
  std::string staging_;
};

}  // namespace impart::data

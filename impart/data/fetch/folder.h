#pragma once

#include <filesystem>

namespace impart::data {

/// The folder that a fetch fills: made where there is none, and gone again if nothing came into it.
/// While this lives no other fetch can have it.
class Destination {
 public:
  /// IoError if it cannot be made or opened, or if another fetch has it.
  explicit Destination(std::filesystem::path path);
  ~Destination();
  Destination(const Destination&) = delete;
  Destination& operator=(const Destination&) = delete;

 private:
  std::filesystem::path path_;
  bool was_made_ = false;
  int descriptor_ = -1;
};

/// An empty folder that goes away with all that is left in it. What an earlier one of that name
/// could not clear away is cleared away first.
class ScratchFolder {
 public:
  /// IoError if it cannot be made.
  explicit ScratchFolder(std::filesystem::path path);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace impart::data

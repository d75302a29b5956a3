#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace impart::run {

/// A checkpoint is a folder checkpoints/step-NNNNNNNNNN of a run directory: data files, and a
/// manifest.json that lists every file with its size and xxh3-64. It is written under a temporary
/// name, synced, and renamed, so a folder with a valid manifest is complete.
class CheckpointWriter {
 public:
  /// Starts the checkpoint of that step. IoError if the folder cannot be made.
  CheckpointWriter(std::string run_folder, std::uint64_t step);
  /// Takes an unfinished checkpoint away again.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// Where to write a file of the checkpoint.
  std::string path(std::string_view file) const;
  /// Writes the manifest and gives the folder its name; then removes older checkpoints of the run
  /// but the newest `keep` - 1 of them.
  void finish(std::uint32_t keep);

 private:
  void remove_old(std::uint32_t keep) const;

  std::string run_folder_;
  std::string name_;
  std::string temporary_;
  bool finished_ = false;
};

/// Checks a checkpoint's files against its manifest. DataError says what is wrong.
void verify_checkpoint(const std::string& folder);

/// The newest checkpoint of a run that is whole; `skipped` is told of newer ones that are not.
/// Nothing if there is none.
std::optional<std::string> find_checkpoint(
    const std::string& run_folder, const std::function<void(const std::string& message)>& skipped);

}  // namespace impart::run

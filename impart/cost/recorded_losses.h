#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace impart::cost {

/// What a run has learned of its examples, so that what it decided, or others would have, can be
/// decided once more without training.
struct RecordedLosses {
  std::string folder = {};  ///< of the run, for messages
  std::uint64_t examples = 0;
  std::uint32_t workers = 1;
  std::vector<std::vector<float>> by_epoch = {};  ///< [epoch][example]; NaN: it was not visited
  std::vector<std::uint32_t> labels = {};         ///< empty if examples have no classes
  std::optional<double> payload_bytes = {};       ///< mean of an example, as it is stored
};

/// Reads config.yaml, summary.json, history.npy and, if it is there, labels.npy of a run directory.
/// ConfigError if the run recorded no losses; DataError (path) if a file is damaged, or if they
/// contradict each other.
RecordedLosses read_recorded_losses(const std::string& folder);

}  // namespace impart::cost

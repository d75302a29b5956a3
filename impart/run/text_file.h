#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace impart::run {

// texts.jsonl of a run directory: the texts that a run found hardest and easiest, for people to
// look at.

struct TextRecord {
  std::string notion;
  bool hardest = true;     ///< else easiest
  std::uint32_t rank = 0;  ///< from 1, the most extreme first
  std::uint64_t id = 0;
  double importance = 0;
  std::string file = {};     ///< where the text comes from; empty if it was made
  std::uint64_t offset = 0;  ///< in bytes, in that file
  std::string label = {};    ///< empty: it has none
  std::string text = {};
  /// The pieces that were predicted, and the loss of each under the final model; only if asked for.
  std::vector<std::pair<std::string, float>> tokens = {};
};

/// Writes the file complete or not at all. Bytes that are not UTF-8 become U+FFFD. IoError.
void write_texts(const std::string& path, const std::vector<TextRecord>& texts);

/// DataError with path and line.
std::vector<TextRecord> read_texts(const std::string& path);

}  // namespace impart::run

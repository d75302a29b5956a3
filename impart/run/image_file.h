#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace impart::run {

// images.jsonl of a run directory: the images that a run found hardest and easiest, and those that
// its selection hid most and least often, for people to look at.

/// Why an image was chosen: by its importance.
struct ImageRank {
  std::string notion;
  bool in_class = false;   ///< among the examples of its class; else among all
  bool hardest = true;     ///< else easiest
  std::uint32_t rank = 0;  ///< from 1, the most extreme first
  double importance = 0;
};

/// Why an image was chosen: by how often a selection hid it.
struct HiddenRank {
  bool most = true;         ///< else least often
  std::uint32_t rank = 0;   ///< from 1, the most extreme first
  std::uint32_t times = 0;  ///< epochs in which it was hidden
};

struct ImageRecord {
  std::uint64_t id = 0;
  std::uint32_t class_number = 0;
  std::string label = {};       ///< the name of its class, or its number
  std::string prediction = {};  ///< what the final model takes it for, likewise
  double probability = 0;       ///< that the model gives to its prediction
  std::uint32_t worker = 0;     ///< that has it at the end
  std::vector<ImageRank> ranks = {};
  std::optional<HiddenRank> hidden = {};
  std::string png = {};  ///< a small picture of it: the bytes of a PNG file
};

/// The lines of the file.
std::string image_lines(const std::vector<ImageRecord>& images);

/// The other way. `where` is for messages; DataError with it and the line.
std::vector<ImageRecord> parse_image_lines(std::string_view text, std::string_view where);

/// Writes the file complete or not at all. IoError.
void write_images(const std::string& path, const std::vector<ImageRecord>& images);

/// DataError with path and line.
std::vector<ImageRecord> read_images(const std::string& path);

}  // namespace impart::run

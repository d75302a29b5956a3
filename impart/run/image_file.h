#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace impart::run {

// images.jsonl of a run directory: the images that a run found hardest and easiest, for people to
// look at.

/// Why an image was chosen.
struct ImageRank {
  std::string notion;
  bool in_class = false;   ///< among the examples of its class; else among all
  bool hardest = true;     ///< else easiest
  std::uint32_t rank = 0;  ///< from 1, the most extreme first
  double importance = 0;
};

struct ImageRecord {
  std::uint64_t id = 0;
  std::uint32_t class_number = 0;
  std::string label = {};       ///< the name of its class, or its number
  std::string prediction = {};  ///< what the final model takes it for, likewise
  double probability = 0;       ///< that the model gives to its prediction
  std::uint32_t worker = 0;     ///< that has it at the end
  std::vector<ImageRank> ranks = {};
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

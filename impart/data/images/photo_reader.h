#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "impart/data/images/orientation.h"
#include "impart/data/images/photo_crop.h"

namespace impart::data {

/// Reads a compressed picture from top to bottom. Calls come in the order of the members; DataError
/// wherever the file turns out to be damaged. The payload must outlive the reader.
class PhotoReader {
 public:
  virtual ~PhotoReader() = default;

  /// As the header says.
  std::uint32_t width() const { return width_; }
  std::uint32_t height() const { return height_; }

  /// How the picture has to be turned when it is read; everything else is about what is stored.
  const Orientation& orientation() const { return orientation_; }

  /// Whether all of the picture is held in memory while it is read.
  virtual bool is_held_whole() const = 0;

  /// Makes the picture smaller, before it is read, by the largest factor it can: 1, 2, 4 or 8, but
  /// at most `most`. Its sides are then rounded up.
  virtual std::uint32_t shrink(std::uint32_t most) = 0;

  /// Which pixels (of the smaller picture) the rows will hold.
  virtual void start(const CropBox& window) = 0;

  /// The window's next row: red, green, blue and one unused byte per pixel. Valid until the next
  /// call.
  virtual std::span<const std::uint8_t> next_row() = 0;

  /// Reads what lies behind the window, to the end of the picture.
  virtual void finish() = 0;

 protected:
  std::uint32_t width_ = 0, height_ = 0;
  Orientation orientation_;
};

bool is_jpeg(std::span<const std::byte> payload);
bool is_png(std::span<const std::byte> payload);
std::unique_ptr<PhotoReader> read_jpeg(std::span<const std::byte> payload);
std::unique_ptr<PhotoReader> read_png(std::span<const std::byte> payload);

}  // namespace impart::data

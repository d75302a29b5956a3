#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "impart/data/mds/array.h"
#include "impart/data/mds/columns.h"
#include "impart/data/payloads/example_set.h"

namespace impart::data {

struct MdsDecoderSpec {
  std::vector<MdsColumn> columns;
  std::size_t image = 0;           ///< which of them is decoded
  std::uint32_t photo_size = 224;  ///< of decoded photographs
  /// Any sample: it tells the shape of arrays, where the encoding does not.
  std::span<const std::byte> example = {};
};

/// Decodes the image in a sample. JPEG and PNG files become photographs of photo_size ×
/// photo_size (photo_decoder.h); arrays of bytes are images already, all of the same shape.
class MdsSampleDecoder final : public PayloadDecoder {
 public:
  /// DataError if the column holds no images.
  explicit MdsSampleDecoder(const MdsDecoderSpec& spec);

  void decode(std::span<const std::byte> payload, const DecodeChoices& choices,
              std::span<std::uint8_t> pixels) const override;

  /// Of decoded images.
  const MdsImageLayout& layout() const { return layout_; }
  /// Whether images are photographs, which may be cropped at random.
  bool is_photo() const { return photos_ != nullptr; }

 private:
  void decode_array(std::span<const std::byte> value, std::span<std::uint8_t> pixels) const;

  std::vector<MdsColumn> columns_;
  std::size_t image_;
  std::shared_ptr<const PayloadDecoder> photos_;  ///< null: arrays
  MdsArrayEncoding array_;
  MdsImageLayout layout_;
};

}  // namespace impart::data

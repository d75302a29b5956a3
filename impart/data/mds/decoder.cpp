#include "impart/data/mds/decoder.h"

#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impart/core/error.h"
#include "impart/data/images/photo_decoder.h"

namespace impart::data {

MdsSampleDecoder::MdsSampleDecoder(const MdsDecoderSpec& spec)
    : columns_(spec.columns), image_(spec.image) {
  const std::string& encoding = columns_.at(image_).encoding;
  if (is_mds_photo(encoding)) {
    photos_ = make_photo_decoder({.size = spec.photo_size});
    layout_ = {.channels = 3, .height = spec.photo_size, .width = spec.photo_size};
    return;
  }
  array_ = parse_mds_array_encoding(encoding);
  if (array_.fixed_bytes() != 0) {
    layout_ = mds_image_layout(array_.type, array_.shape);
    return;
  }
  const MdsArray array = view_mds_array(array_, mds_value(columns_, image_, spec.example));
  layout_ = mds_image_layout(array.type, array.shape);
}

void MdsSampleDecoder::decode(std::span<const std::byte> payload, const DecodeChoices& choices,
                              std::span<std::uint8_t> pixels) const {
  const std::span<const std::byte> value = mds_value(columns_, image_, payload);
  if (is_photo()) return photos_->decode(value, choices, pixels);
  decode_array(value, pixels);
}

void MdsSampleDecoder::decode_array(std::span<const std::byte> value,
                                    std::span<std::uint8_t> pixels) const {
  const MdsArray array = view_mds_array(array_, value);
  if (mds_image_layout(array.type, array.shape) != layout_) {
    throw DataError(fmt::format("an array of shape ({}), unlike the first of its data set",
                                fmt::join(array.shape, ", ")));
  }
  if (layout_.planes || layout_.channels == 1) {
    std::memcpy(pixels.data(), array.elements.data(), array.elements.size());
    return;
  }
  const std::size_t plane = std::size_t{layout_.height} * layout_.width;
  for (std::size_t channel = 0; channel < layout_.channels; ++channel) {
    for (std::size_t p = 0; p < plane; ++p) {
      pixels[channel * plane + p] =
          std::to_integer<std::uint8_t>(array.elements[p * layout_.channels + channel]);
    }
  }
}

}  // namespace impart::data

#include "impart/data/payloads/raw_decoder.h"

#include <cstring>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::data {
namespace {

class RawDecoder final : public PayloadDecoder {
 public:
  explicit RawDecoder(std::uint64_t image_bytes) : image_bytes_(image_bytes) {}

  void decode(std::span<const std::byte> payload, const DecodeChoices&,
              std::span<std::uint8_t> pixels) const override {
    if (pixels.size() != image_bytes_) {
      throw Error(
          fmt::format("raw decoder: {} bytes to fill instead of {}", pixels.size(), image_bytes_));
    }
    if (payload.size() != image_bytes_) {
      throw DataError(
          fmt::format("{} bytes instead of the {} of an image", payload.size(), image_bytes_));
    }
    std::memcpy(pixels.data(), payload.data(), payload.size());
  }

 private:
  std::uint64_t image_bytes_;
};

}  // namespace

std::shared_ptr<const PayloadDecoder> make_raw_decoder(std::uint64_t image_bytes) {
  return std::make_shared<RawDecoder>(image_bytes);
}

}  // namespace impart::data

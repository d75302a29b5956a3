#include "impart/data/text/token_decoder.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::data {
namespace {

class TokenDecoder final : public PayloadDecoder {
 public:
  void decode(std::span<const std::byte> payload, const DecodeChoices&,
              std::span<std::uint8_t> row) const override {
    if (payload.size() > row.size() || payload.size() % 2 != 0) {
      throw DataError(fmt::format("{} bytes of tokens, expected an even number up to {}",
                                  payload.size(), row.size()));
    }
    if (!payload.empty()) std::memcpy(row.data(), payload.data(), payload.size());
    std::fill(row.begin() + static_cast<std::ptrdiff_t>(payload.size()), row.end(),
              std::uint8_t{0});
  }
};

}  // namespace

std::shared_ptr<const PayloadDecoder> make_token_decoder() {
  return std::make_shared<TokenDecoder>();
}

}  // namespace impart::data

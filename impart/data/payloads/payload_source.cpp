#include "impart/data/payloads/payload_source.h"

namespace impart::data {

std::uint64_t PayloadSource::read_all(std::span<const PayloadWish> wishes) const {
  std::uint64_t bytes = 0;
  for (const PayloadWish& wish : wishes) {
    bytes += read(wish.id, wish.payload);
  }
  return bytes;
}

}  // namespace impart::data

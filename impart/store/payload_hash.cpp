#include "impart/store/payload_hash.h"

#include <xxhash.h>
// Makes XXH3_64bits choose among SSE2, AVX2 and AVX-512 at run time.
#ifdef IMPART_XXHASH_DISPATCH
#include <xxh_x86dispatch.h>
#endif

namespace impart::store {

std::uint64_t payload_hash(std::span<const std::byte> payload) {
  return XXH3_64bits(payload.data(), payload.size());
}

}  // namespace impart::store

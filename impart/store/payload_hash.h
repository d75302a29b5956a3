#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace impart::store {

/// xxh3-64 of a payload, with the widest vectors that the processor has: about 25 GB/s.
std::uint64_t payload_hash(std::span<const std::byte> payload);

}  // namespace impart::store

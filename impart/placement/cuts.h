#pragma once

#include <cstdint>

namespace impart::placement {

/// ⌊worker · examples / workers⌋ without overflow: where a worker's run begins when a list is cut
/// into equal runs.
inline std::uint64_t cut_before(std::uint64_t worker, std::uint64_t examples,
                                std::uint32_t workers) {
  return worker * (examples / workers) + worker * (examples % workers) / workers;
}

}  // namespace impart::placement

#pragma once

#include <chrono>
#include <cstdint>

namespace impart::data {

/// How a server is asked.
struct RemoteSpec {
  std::uint32_t connections = 16;    ///< at once, of each part of a data set in each process
  std::uint32_t retries = 8;         ///< of one request, after failures that may pass
  std::chrono::seconds timeout{30};  ///< without an answer, or with less than `least_rate`
  std::uint64_t least_rate = 1024;   ///< bytes per second
  std::uint64_t gap =
      1024;  ///< bytes between two payloads that are fetched rather than asked around
};

}  // namespace impart::data

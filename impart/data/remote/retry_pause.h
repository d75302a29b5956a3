#pragma once

#include <chrono>
#include <cstdint>

#include "impart/core/random.h"

namespace impart::data {

/// How long to wait before trying again: 0.1 s after the first failure, then twice as long each
/// time up to 10 s, by chance up to half shorter, so that many who failed together do not come back
/// together. At least what the server asked for, up to a minute.
class RetryPause {
 public:
  RetryPause();

  std::chrono::milliseconds after(std::uint32_t failures, std::chrono::seconds asked_for);

 private:
  RandomStream chance_;  ///< another one in each process: it changes when, never what
};

}  // namespace impart::data

#include "impart/data/remote/retry_pause.h"

#include <algorithm>

#include <unistd.h>

namespace impart::data {
namespace {

using namespace std::chrono_literals;

std::uint64_t any_seed() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return static_cast<std::uint64_t>(now) ^ static_cast<std::uint64_t>(::getpid()) << 40;
}

}  // namespace

RetryPause::RetryPause() : chance_({.seed = any_seed(), .purpose = Purpose("retry")}) {}

std::chrono::milliseconds RetryPause::after(std::uint32_t failures,
                                            std::chrono::seconds asked_for) {
  const std::uint32_t doublings = std::clamp(failures, 1u, 8u) - 1;
  const std::chrono::milliseconds longest =
      std::min<std::chrono::milliseconds>(100ms * (1 << doublings), 10s);
  const auto own = std::chrono::milliseconds(static_cast<std::int64_t>(
      static_cast<double>(longest.count()) * (1 - chance_.uniform() / 2)));
  const std::chrono::milliseconds asked = std::min<std::chrono::seconds>(asked_for, 60s);
  return std::max(own, asked);
}

}  // namespace impart::data

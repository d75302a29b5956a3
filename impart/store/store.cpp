#include "impart/store/store.h"

#include <thread>

namespace impart::store {
namespace {

/// Calls between two that leave the processor to others: a process that waits for one with which it
/// shares a core must do so, one that is busy moving should not.
constexpr std::uint32_t kCallsPerYield = 64;

}  // namespace

void Store::finish_moves() {
  for (std::uint32_t calls = 1; !advance_moves(); ++calls) {
    if (calls % kCallsPerYield == 0) std::this_thread::yield();
  }
}

}  // namespace impart::store

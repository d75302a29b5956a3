#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "impart/comm/communicator.h"
#include "impart/store/cache/policies.h"

namespace impart::store {

/// Bytes and the seconds that one thread took for them.
struct TimedBytes {
  double bytes = 0, seconds = 0;
};

/// Whether the network was measured to be faster. False if nothing was read from the source: then
/// there is nothing to compare.
bool peers_are_faster(const TimedBytes& source, const TimedBytes& network);

/// How fast the source of a store and the network are. Only where bytes come from follows from it,
/// never which.
class SourceRates {
 public:
  /// From any thread.
  void add_read(std::uint64_t bytes, std::chrono::steady_clock::duration took) {
    bytes_ += bytes;
    nanoseconds_ += static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(took).count());
  }

  /// What `move_from` comes to. With kAuto processes compare what they have measured; the network
  /// is measured the first time, by 256 KiB that each sends its neighbour. Collective: every
  /// process calls it, in the same order.
  bool choose_peers(MoveFrom move_from, comm::Communicator& communicator);

 private:
  std::atomic<std::uint64_t> bytes_ = 0, nanoseconds_ = 0;
  TimedBytes network_;
};

}  // namespace impart::store

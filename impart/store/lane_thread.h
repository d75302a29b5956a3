#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stop_token>
#include <thread>

#include "impart/comm/communicator.h"
#include "impart/store/held_parts.h"
#include "impart/store/lanes.h"

namespace impart::store {

/// A thread that carries out one exchange while others compute: all its messages, copies, hashes,
/// writes and syncs are made there. It sleeps while nothing moves, up to 0.2 ms at a time.
///
/// If the exchange fails, the thread tells the other processes, who may wait for its bytes, and
/// ends. Only who made it may use it.
class LaneThread {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts. All must outlive it; until it has ended nobody else changes what `run` works on.
  LaneThread(LaneRun& run, HeldParts& parts, comm::Communicator& communicator);
  /// Ends it, wherever the exchange is. Waits for what it does at this moment: a sync, say.
  ~LaneThread() = default;
  LaneThread(const LaneThread&) = delete;
  LaneThread& operator=(const LaneThread&) = delete;

  /// Whether the exchange is done. Throws what has ended it otherwise.
  bool is_done();
  /// Returns when it is, or throws as is_done().
  void wait();
  /// When it was.
  Clock::time_point done_at() const { return done_at_; }

 private:
  void carry_out(const std::stop_token& stop);
  void advance(const std::stop_token& stop);

  LaneRun& run_;
  HeldParts& parts_;
  comm::Communicator& communicator_;
  std::mutex mutex_;  ///< of the next four
  std::condition_variable ended_;
  bool has_ended_ = false;
  Clock::time_point done_at_{};
  std::exception_ptr failure_;
  std::jthread thread_;  ///< goes first
};

}  // namespace impart::store

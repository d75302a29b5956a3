#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <mpi.h>

#include "impart/comm/communicator.h"
#include "impart/comm/heartbeat.h"
#include "impart/comm/peer_watch.h"

namespace impart::comm {

/// Looks after the other processes for one that waits: whether one has failed, died or fallen
/// silent, and whom to name when it takes long. Takes `mpi` in all its calls.
class Lookout {
 public:
  using Clock = std::chrono::steady_clock;

  /// `mpi` is held by whoever calls MPI.
  /// Collective: every process calls it, in the same order.
  Lookout(MPI_Comm jobs_communicator, const CommunicatorSpec& spec, std::mutex& mpi);

  /// From here to stop() a thread tells the others that this process lives.
  void start() { heartbeat_.start(); }
  void stop() { heartbeat_.stop(); }
  /// From here on nothing here calls MPI.
  void fall_silent();

  void set_activity(const Activity& activity);
  void count_collective();

  /// To be called again and again in a wait: for process `awaited`, or for those who have not begun
  /// the collective. Looks every 20 ms. The failure that ends the wait, as the message of a
  /// PeerError, 0.2 s after it was found: a process that failed later may have done its share.
  std::optional<std::string> look(std::optional<std::uint32_t> awaited);
  /// The wait is over.
  void end_wait() { waiting_since_.reset(); }

  /// PeerWatch::announce; then falls silent.
  void announce(std::string_view reason);

 private:
  void note_silent(Clock::time_point now);
  std::string describe_long_wait(std::optional<std::uint32_t> awaited, Clock::time_point now);

  std::mutex& mpi_;
  CommunicatorSpec spec_;
  std::uint32_t rank_ = 0;
  PeerWatch watch_;
  Heartbeat heartbeat_;
  Clock::time_point looked_at_{};
  std::optional<Clock::time_point> failed_at_;
  std::optional<Clock::time_point> waiting_since_;
  bool told_ = false;  ///< that this wait is long
};

}  // namespace impart::comm

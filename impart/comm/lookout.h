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
/// silent, and whom to name when it takes long. Several threads may wait at a time, each for
/// itself. Takes `mpi` in all its calls but two.
class Lookout {
 public:
  using Clock = std::chrono::steady_clock;

  /// `mpi` is held by whoever calls MPI.
  /// Collective: every process calls it, in the same order.
  Lookout(MPI_Comm jobs_communicator, const CommunicatorSpec& spec, std::mutex& mpi);

  /// From here to stop() a thread tells the others that this process lives.
  void start() { heartbeat_.start(); }
  void stop() { heartbeat_.stop(); }
  /// From here on nothing here calls MPI. The caller holds `mpi`.
  void fall_silent() { heartbeat_.fall_silent(); }

  void set_activity(const Activity& activity);
  void count_collective();

  /// To be called again and again in a wait: for process `awaited`, or for those who have not begun
  /// the collective. Looks every 20 ms. The failure that ends the wait, as the message of a
  /// PeerError, 0.2 s after it was found: a process that failed later may have done its share.
  std::optional<std::string> look(std::optional<std::uint32_t> awaited);
  /// The wait is over.
  static void end_wait() { wait_.since.reset(); }

  /// PeerWatch::announce; then falls silent. The caller holds `mpi`.
  void announce(std::string_view reason);

 private:
  /// What a thread waits for; it waits for one thing at a time.
  struct Wait {
    Clock::time_point looked_at{};
    std::optional<Clock::time_point> since = {};
    bool told = false;  ///< that this wait is long
  };

  void note_silent(Clock::time_point now);
  std::string describe_long_wait(std::optional<std::uint32_t> awaited, Clock::time_point now);

  std::mutex& mpi_;
  CommunicatorSpec spec_;
  std::uint32_t rank_ = 0;
  PeerWatch watch_;
  Heartbeat heartbeat_;
  std::optional<Clock::time_point> failed_at_;
  static thread_local Wait wait_;
};

}  // namespace impart::comm

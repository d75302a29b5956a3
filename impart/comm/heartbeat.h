#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include <mpi.h>

#include "impart/comm/pulse.h"

namespace impart::comm {

/// Tells the other processes of the job that this one lives, and hears whether they do. A thread of
/// its own speaks while the process computes, so who is slow is not taken for lost; a process that
/// is stopped or cut off falls silent. Pulses are small messages of MPI: they need no address or
/// port of their own, and take the way whose failure matters.
class Heartbeat {
 public:
  using Clock = PulseBoard::Clock;

  /// `mpi` is held by whoever calls MPI, which serves one thread at a time.
  /// Collective: every process calls it, in the same order.
  Heartbeat(MPI_Comm jobs_communicator, Clock::duration timeout, std::mutex& mpi);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  /// Starts the thread.
  void start();
  /// Ends the thread. The caller does not hold `mpi`.
  void stop();

  // For all that follows the caller holds `mpi`.

  /// Hears the others, and speaks if it is time. Microseconds.
  void beat(Clock::time_point now);
  /// From here on nothing calls MPI.
  void fall_silent() { silent_ = true; }

  /// What this process says of itself.
  Pulse& mine() { return mine_; }
  const PulseBoard& board() const { return board_; }

 private:
  struct Outgoing {
    Pulse pulse;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  void beat_until_stopped();
  void receive(Clock::time_point now);
  void send();

  MPI_Comm communicator_ = MPI_COMM_NULL;
  std::mutex& mpi_;
  Clock::duration period_;
  PulseBoard board_;
  Pulse mine_;
  std::vector<Outgoing> outgoing_;  ///< by rank
  Clock::time_point spoke_{};
  bool silent_ = false;
  bool stopping_ = false;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace impart::comm

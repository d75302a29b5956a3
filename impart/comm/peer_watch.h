#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <mpi.h>

namespace impart::comm {

/// Knows whether the other processes of the job are still at work. It learns it in two ways:
/// a process that fails says so, with its reason, in a small message beside the collectives; and
/// one that dies without a word is seen through its pidfd by those of the same machine, who pass it
/// on. Who falls silent otherwise is known by the Heartbeat.
///
/// Uses MPI only inside its calls.
class PeerWatch {
 public:
  /// Collective: every process calls it, in the same order.
  explicit PeerWatch(MPI_Comm jobs_communicator);
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  /// The first failure known of, as the message of a PeerError. One MPI_Iprobe and one poll(2):
  /// microseconds.
  const std::optional<std::string>& look();

  /// Makes it the failure that look() finds that this process is lost.
  void note_loss(std::uint32_t rank, std::string_view message);

  /// Tells all others of a failure of this process. Returns when they have ended, or have failed
  /// themselves, or after 1.5 s.
  void announce(std::string_view reason);

  /// Answers the failure that look() has found, so that who announced it need not wait for this
  /// process; and passes it on if nobody announced it. At most 0.1 s.
  void acknowledge();

 private:
  enum class Kind : std::uint32_t { kFailure, kAcknowledgement };
  struct Notice {
    Kind kind;
    std::uint32_t rank;  ///< who failed
    char text[1016];     ///< the message of a PeerError, ends with a 0
  };
  struct Peer {
    int pidfd = -1;  ///< -1 if on another machine
    bool failed = false;
    bool acknowledged = false;
    bool ended = false;
  };

  void watch_neighbours();
  void receive();
  void look_for_ended();
  void note_failure(const Notice& notice, int announcer);
  void post(const Notice& notice, int to);
  void post_to_all(const Notice& notice);
  bool all_is_sent();
  bool all_others_are_done() const;

  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  std::vector<Peer> peers_;
  std::optional<std::string> failure_;
  Notice notice_{};     ///< of failure_
  int announcer_ = -1;  ///< who told of failure_; -1 if nobody did
  std::list<Notice> sent_;
  std::vector<MPI_Request> sending_;
};

}  // namespace impart::comm

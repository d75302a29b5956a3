#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impart/comm/communicator.h"

namespace impart::comm {

/// What a process tells the others of itself, again and again, while it computes too.
struct Pulse {
  std::uint64_t collectives = 0;  ///< how many it has begun
  std::uint32_t epoch = 0;        ///< from 0
  std::uint32_t step = 0;
  char phase[24] = "start";  ///< ends with a 0

  void set(const Activity& activity);
  /// "train, epoch 3, step 17"
  std::string text() const;
};

/// When each process of a job was last heard of, and what it was at. No clock of its own, no
/// messages: whoever has them tells it.
class PulseBoard {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;
  struct Spec {
    std::uint32_t rank = 0;  ///< this process
    std::uint32_t size = 1;
    Clock::duration timeout{};  ///< who is silent for so long is lost; 0: nobody ever is
    Clock::duration period{};   ///< how often processes speak, and pass_time is called
  };

  PulseBoard(const Spec& spec, Time now);

  void note(std::uint32_t rank, const Pulse& pulse, Time now);

  /// A time in which this process itself stood still (SIGSTOP, a sleeping laptop) is nobody's
  /// silence. Call it before what has arrived meanwhile is noted.
  void pass_time(Time now);

  /// Who is lost. If anybody is, also who will be within two periods: what cuts off several
  /// processes at once is told in one message.
  std::vector<std::uint32_t> lost(Time now) const;

  /// Who has begun fewer collectives than this process.
  std::vector<std::uint32_t> behind(const Pulse& mine) const;

  /// "process 2 of 4 was lost: nothing was heard of it for 300 s (comm.timeout), last in train,
  /// epoch 3, step 17; process 0 waits in train, epoch 3, step 18, for 299 s now"
  std::string describe_loss(std::span<const std::uint32_t> lost, const Pulse& mine,
                            Clock::duration waited, Time now) const;

  /// "process 0 of 4, in train, epoch 3, step 18, has waited for 30 s for process 2 (in evaluate,
  /// epoch 3, step 0, heard of 1 s ago)"
  std::string describe_wait(std::span<const std::uint32_t> awaited, const Pulse& mine,
                            Clock::duration waited, Time now) const;

 private:
  struct Peer {
    Pulse pulse;
    Time heard;
  };
  Clock::duration silence(std::uint32_t rank, Time now) const { return now - peers_[rank].heard; }

  Spec spec_;
  std::vector<Peer> peers_;
  Time passed_;
};

}  // namespace impart::comm

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "impart/comm/communicator.h"
#include "impart/cost/cluster/fluid_network.h"

namespace impart::cost {

/// Bytes that a message stands for: of so many, with this tag.
using DeclaredBytes = std::function<double(std::size_t bytes, std::uint32_t tag)>;

/// The messages between the processes of a simulated cluster, one process on each node. All
/// processes live in this one, on one thread: whoever drives them asks each, in turn, to go on
/// without waiting, and then lets the network go on. A message starts when both its ends have asked
/// for it, and its bytes are copied when it ends.
class ClusterMessages {
 public:
  ClusterMessages(FluidNetwork& network, DeclaredBytes declared);

  /// The communicator of a process. It can send and receive; collectives are not simulated, Error.
  /// What is asked for is asked for at the time of `clock`, which may be later than the network's:
  /// the process is busy until then. Must not outlive this; the clock must outlive it.
  std::unique_ptr<comm::Communicator> communicator(std::uint32_t rank, std::uint32_t size,
                                                   const double& clock);

  /// Lets the network go on until a message ends, or to `limit`. The processes at the ends of what
  /// has ended, each once.
  const std::vector<std::uint32_t>& advance(double limit);

  std::uint64_t messages() const { return messages_; }
  /// How often a process has asked to send or to receive.
  std::uint64_t asked() const { return asked_; }

 private:
  friend class ClusterCommunicator;
  struct Message {
    std::uint32_t from = 0, to = 0, tag = 0;
    double asked = 0;  ///< when the later of both ends did
    const std::byte* source = nullptr;
    std::byte* target = nullptr;
    std::size_t bytes = 0;
    bool done = false;
  };
  using Shared = std::shared_ptr<Message>;
  /// Of one direction between two processes and one tag: what one end has asked for and the other
  /// has not.
  struct Channel {
    std::deque<Shared> sends, receives;
  };

  Shared ask(Message wish, double clock);
  void begin(const Shared& message);
  void note_process(std::uint32_t rank);

  FluidNetwork& network_;
  DeclaredBytes declared_;
  std::uint64_t messages_ = 0, asked_ = 0;
  std::unordered_map<std::uint64_t, Channel> channels_;
  std::vector<Shared> under_way_;  ///< by name
  std::vector<std::uint64_t> free_names_;
  std::vector<std::uint32_t> touched_;
  std::vector<bool> is_touched_;
};

}  // namespace impart::cost

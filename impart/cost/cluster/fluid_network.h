#pragma once

#include <cstdint>
#include <deque>
#include <queue>
#include <span>
#include <unordered_map>
#include <vector>

#include "impart/cost/cluster/max_min.h"
#include "impart/cost/cluster/topology.h"

namespace impart::cost {

/// Messages on their way through a topology, as liquids through pipes: a message flows at the rate
/// that its links have for it, and rates change when one begins or ends.
///
/// Messages from one node to another go one after the other, as over one connection; their
/// latencies overlap. What is no larger than a packet goes between the packets of others and takes
/// its latency and its own time at the full rate.
class FluidNetwork {
 public:
  /// Ends that are nearer to each other than `window` seconds count as one moment: with thousands
  /// of messages under way no two of them end together, and each moment costs O(messages). 0: none
  /// are. The topology must outlive it.
  FluidNetwork(const Topology& topology, double window);

  static constexpr double kPacketBytes = 1500;

  double now() const { return now_; }
  bool idle() const { return flowing_.empty() && waiting_.empty() && packets_.empty(); }

  /// A message between two different nodes that starts at `at`, not before now. `name` is what
  /// advance() calls it.
  void start(std::uint32_t from, std::uint32_t to, double bytes, double at, std::uint64_t name);

  /// Moves the clock on to the next moment at which messages end, or to `limit` if that comes
  /// first, and gives the names of those that end. Nothing happens if nothing is under way.
  const std::vector<std::uint64_t>& advance(double limit);

  /// Bytes that have passed each link, or will when what is under way has ended; without packets.
  std::span<const double> carried() const { return carried_; }

 private:
  struct Message {
    std::uint64_t connection = 0;
    double bytes = 0;
    double ready = 0;
    std::uint64_t name = 0;
  };
  struct Flowing {
    Route route;
    double left = 0;  ///< bytes
    double rate = 0;
    std::uint64_t connection = 0;
    std::uint64_t name = 0;
  };
  struct Later {
    double at = 0;
    std::uint64_t number = 0;  ///< first come, first served
    Message message = {};
    bool operator>(const Later& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };
  using Timeline = std::priority_queue<Later, std::vector<Later>, std::greater<>>;

  void begin(const Message& message);
  void begin_ready(double until);
  void share_links();
  double next_end() const;
  void end_flows(double until);
  void end_packets(double until);
  Route route_of(std::uint64_t connection) const;

  const Topology& topology_;
  double window_;
  MaxMinSolver solver_;
  double now_ = 0;
  std::uint64_t started_ = 0;
  Timeline waiting_;  ///< for their latency
  Timeline packets_;
  std::vector<Flowing> flowing_;
  /// Messages behind the one that flows, of connections that have one.
  std::unordered_map<std::uint64_t, std::deque<Message>> queues_;
  bool changed_ = false;
  std::vector<const Route*> routes_;
  std::vector<double> carried_;
  std::vector<std::uint64_t> ended_;
};

}  // namespace impart::cost

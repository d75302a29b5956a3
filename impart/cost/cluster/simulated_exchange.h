#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "impart/core/progress.h"
#include "impart/cost/cluster/topology.h"
#include "impart/placement/move_plan.h"
#include "impart/store/flow.h"

namespace impart::cost {

/// An exchange on a cluster that is not there: which, and of what.
struct ClusterSpec {
  TopologySpec topology = {};
  std::uint32_t workers = 0;  ///< spread over the nodes as over processes; 0: one on each
  double payload_bytes = 0;   ///< of every example
  /// Share of a link's rate that is left for payloads: headers of TCP over Ethernet take 5 %.
  double efficiency = 0.95;
  double disk = 0;  ///< bytes/s of each node, for what is sent and what is stored; 0: in memory
  double pack = 0;  ///< bytes/s that a process copies and hashes; 0: takes no time
  store::FlowSpec flow = {};
  std::uint32_t window = 4;  ///< pieces under way per pair of processes and direction
  /// Ends of messages within this share of the time of a typical one count as one moment.
  double precision = 0.01;
};

struct BusyLink {
  std::string name;
  double bytes = 0;
  double share = 0;  ///< of the time of the exchange that it had to do something at full rate
};

struct SimulatedExchange {
  double seconds = 0;       ///< until the last process is done
  double mean_seconds = 0;  ///< until a process is done, over all
  /// What the busiest of the nodes' own links needs for its bytes: with nothing in anybody's way.
  double least_seconds = 0;
  double bytes = 0;            ///< that travelled between nodes
  std::uint64_t examples = 0;  ///< that changed their worker
  std::uint64_t messages = 0;  ///< pieces and acknowledgements
  BusyLink busiest = {};
  BusyLink busiest_inside = {};  ///< of links between switches; no name where there are none
};

/// Carries out a plan with the code of the partitioned store (flows, pieces, lanes,
/// acknowledgements), one process on each node, on a simulated network: real decisions, real order
/// of messages, payloads that are stand-ins, and time that is computed. Every example is checked to
/// arrive. ConfigError if a number cannot be.
SimulatedExchange simulate_exchange(const placement::MovePlan& plan, const ClusterSpec& spec,
                                    const Progress& progress = {});

/// Seconds in which the nodes add up so many bytes in a ring, in the order of their numbers:
/// 2(n-1) steps of bytes/n from each to the next, all alike, of which one is simulated.
double simulate_ring(double bytes, const ClusterSpec& spec);

}  // namespace impart::cost

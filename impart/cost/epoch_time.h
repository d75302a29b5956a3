#pragma once

#include <cstdint>

#include "impart/cost/io_cost.h"
#include "impart/cost/machine.h"

namespace impart::cost {

// How long an epoch takes on a machine: predicted bytes and messages over its rates.
//
//   reading    is done ahead by threads of its own, so it hides behind what is computed. The first
//              epoch of a partitioned store waits for its part.
//   exchange   takes as long as the slower of network and disk, and a latency per message. It hides
//              behind the steps over what stayed with exchange.arrivals_last, else not at all.
//   forward    passes that only look at examples take a third of a step; nothing hides them.
//   gradients  go round in a ring, 2(n−1)/n of them per node and 2(n−1) messages one after another
//              in each step, while the backward pass runs: two thirds of a step.
//   statistics of batch norms that workers share are summed where they are needed: each norm waits
//              in the forward and again in the backward pass for ⌈log₂ m⌉ rounds of messages, m
//              nodes sharing. Nothing hides them.
//
// Nodes wait for none but themselves: all send and read alike, on a network without congestion.
// What reading and exchange take from each other, and the signals (4 bytes per example and epoch),
// are left out.

/// Where examples are between their visits.
enum class StoreLayout {
  kDirectories,  ///< partitioned, each part in a folder of its node
  kMemory,       ///< partitioned, each part in memory
  kReplicated,   ///< every node reads what it visits from the data set's files
};

/// Sums that batch norms of several nodes share (`workers.batch_norm`), in a step.
struct SharedStatistics {
  std::uint32_t sums = 0;   ///< one after another: two of each norm
  double bytes = 0;         ///< of all of them, of a node
  std::uint32_t nodes = 1;  ///< that share them
};

struct TimeSpec {
  Machine machine = {};
  StoreLayout layout = StoreLayout::kDirectories;
  std::uint32_t nodes = 1;  ///< one process each; workers of one node move examples for nothing
  std::uint32_t workers = 1;
  std::uint64_t examples = 0;
  double payload_bytes = 0;
  double steps = 0;              ///< of a node, in an epoch that visits every example once
  std::uint64_t parameters = 0;  ///< of the model; 0: gradients take no time
  bool arrivals_last = false;
  SharedStatistics statistics = {};
};

/// Seconds that something takes, and how many of them pass while a node computes.
struct Overlapped {
  double seconds = 0;
  double hidden = 0;

  double waits() const { return seconds - hidden; }
};

/// Seconds of an epoch, of each node: all nodes work at the same time.
struct EpochTime {
  double compute = 0;     ///< in training steps
  double forward = 0;     ///< in passes that only learn the importance
  double statistics = 0;  ///< waiting for sums of batch norms
  Overlapped reading = {}, exchange = {}, gradients = {};

  double hidden() const { return reading.hidden + exchange.hidden + gradients.hidden; }
  double total() const {
    return compute + forward + statistics + reading.waits() + exchange.waits() + gradients.waits();
  }
};

/// Of one epoch, or of the mean of some of which the share `exchanging` moves examples.
EpochTime time_epoch(const IoCost& cost, const TimeSpec& spec, double exchanging = 1);

struct StrategyTime {
  EpochTime first;  ///< the first epoch
  EpochTime later;  ///< mean of the epochs after it
  double run = 0;   ///< seconds of all epochs
};
StrategyTime time_strategy(const StrategyCost& cost, const TimeSpec& spec, std::uint32_t epochs);

}  // namespace impart::cost

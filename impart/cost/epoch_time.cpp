#include "impart/cost/epoch_time.h"

#include <algorithm>
#include <bit>

namespace impart::cost {
namespace {

/// A backward pass computes about twice as much as its forward pass.
constexpr double kForwardShare = 1.0 / 3;
constexpr double kBackwardShare = 2.0 / 3;

double seconds_of(double bytes, double rate) {
  return rate > 0 ? bytes / rate : 0;
}

/// Bytes per second at which a node reads the data set's files.
double source_rate(const TimeSpec& spec) {
  const Machine& machine = spec.machine;
  if (machine.file_system <= 0) return machine.disk;
  const double share = machine.file_system / spec.nodes;
  return machine.network > 0 ? std::min(share, machine.network) : share;
}

/// Bytes per second at which a node reads and writes its own part.
double part_rate(const TimeSpec& spec) {
  return spec.machine.disk > 0 ? spec.machine.disk : source_rate(spec);
}

/// Of the pairs of workers, how many are on two nodes.
double share_between_nodes(const TimeSpec& spec) {
  if (spec.nodes < 2) return 0;
  const double workers = spec.workers;
  return (workers - workers / spec.nodes) / (workers - 1);
}

/// On disks, of all nodes.
double exchanged_on_disk(const IoCost& cost, const TimeSpec& spec) {
  if (spec.layout != StoreLayout::kDirectories) return 0;
  return cost.examples_moved * (2 * spec.payload_bytes + 2 * kJournalBytesPerChange);
}

Overlapped time_reading(const IoCost& cost, const TimeSpec& spec, double computing) {
  const double nodes = spec.nodes;
  if (spec.layout == StoreLayout::kReplicated) {
    const double seconds = seconds_of(cost.replicated_source_bytes / nodes, source_rate(spec));
    return {seconds, std::min(seconds, computing)};
  }
  const double fetching = seconds_of(cost.partitioned_source_bytes / nodes, source_rate(spec));
  if (spec.layout == StoreLayout::kMemory) return {fetching, 0};
  const double moved = cost.examples_moved;
  const double read = cost.local_read_bytes - moved * spec.payload_bytes;
  const double stored =
      cost.local_written_bytes - moved * (spec.payload_bytes + 2 * kJournalBytesPerChange);
  const double ahead = seconds_of(read / nodes, part_rate(spec));
  return {fetching + seconds_of(stored / nodes, part_rate(spec)) + ahead,
          std::min(ahead, computing)};
}

Overlapped time_exchange(const IoCost& cost, const TimeSpec& spec, double compute,
                         double exchanging) {
  if (spec.layout == StoreLayout::kReplicated || exchanging <= 0) return {};
  const double nodes = spec.nodes;
  const double between = share_between_nodes(spec) / nodes;
  const double sending = seconds_of(cost.network_bytes * between, spec.machine.network);
  const double disk = seconds_of(exchanged_on_disk(cost, spec) / nodes, part_rate(spec));
  Overlapped exchange{.seconds =
                          std::max(sending, disk) + cost.flows * between * spec.machine.latency};
  if (spec.arrivals_last && spec.examples > 0) {
    const double moved = cost.examples_moved / static_cast<double>(spec.examples);
    exchange.hidden = std::min(exchange.seconds, std::max(0.0, exchanging - moved) * compute);
  }
  return exchange;
}

Overlapped time_gradients(const TimeSpec& spec, double steps) {
  if (spec.parameters == 0) return {};
  const double others = spec.nodes - 1.0;
  const double bytes = 2 * 4 * static_cast<double>(spec.parameters) * others / spec.nodes;
  const double each = seconds_of(bytes, spec.machine.network) + 2 * others * spec.machine.latency;
  return {steps * each, steps * std::min(each, kBackwardShare * spec.machine.step)};
}

double time_statistics(const TimeSpec& spec, double steps) {
  const SharedStatistics& shared = spec.statistics;
  if (shared.nodes < 2) return 0;
  const double rounds = std::bit_width(shared.nodes - 1);  // ⌈log₂ nodes⌉
  return steps * rounds *
         (shared.sums * spec.machine.latency + seconds_of(shared.bytes, spec.machine.network));
}

}  // namespace

EpochTime time_epoch(const IoCost& cost, const TimeSpec& spec, double exchanging) {
  const auto examples = static_cast<double>(std::max<std::uint64_t>(1, spec.examples));
  const double steps = spec.steps * cost.visits / examples;
  const double passes = (cost.importance_pass + cost.visits_refreshed) / examples;
  EpochTime time{.compute = steps * spec.machine.step,
                 .forward = passes * spec.steps * spec.machine.step * kForwardShare};
  time.reading = time_reading(cost, spec, time.compute + time.forward);
  time.exchange = time_exchange(cost, spec, time.compute, exchanging);
  time.gradients = time_gradients(spec, steps);
  time.statistics = time_statistics(spec, steps);
  return time;
}

StrategyTime time_strategy(const StrategyCost& cost, const TimeSpec& spec, std::uint32_t epochs) {
  StrategyTime time{.first = time_epoch(cost.first, spec), .later = {}};
  time.run = time.first.total();
  if (epochs < 2) return time;
  const double later = epochs - 1.0;
  // The first event makes the first partition.
  time.later = time_epoch(cost.later, spec, (static_cast<double>(cost.events) - 1) / later);
  time.run += later * time.later.total();
  return time;
}

}  // namespace impart::cost

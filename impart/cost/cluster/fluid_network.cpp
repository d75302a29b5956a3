#include "impart/cost/cluster/fluid_network.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace impart::cost {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-6;  ///< bytes

std::vector<double> link_rates(const Topology& topology) {
  std::vector<double> rates(topology.links());
  for (std::uint32_t link = 0; link < rates.size(); ++link) rates[link] = topology.rate(link);
  return rates;
}

}  // namespace

FluidNetwork::FluidNetwork(const Topology& topology, double window)
    : topology_(topology),
      window_(window),
      solver_(link_rates(topology)),
      carried_(topology.links()) {}

Route FluidNetwork::route_of(std::uint64_t connection) const {
  return topology_.route(static_cast<std::uint32_t>(connection >> 32),
                         static_cast<std::uint32_t>(connection));
}

void FluidNetwork::start(std::uint32_t from, std::uint32_t to, double bytes, double at,
                         std::uint64_t name) {
  const std::uint64_t connection = std::uint64_t{from} << 32 | to;
  const TopologySpec& spec = topology_.spec();
  Message message{connection, bytes, std::max(at, now_) + spec.latency, name};
  if (bytes <= kPacketBytes) {
    packets_.push({message.ready + bytes / spec.rate, started_++, message});
    return;
  }
  const Route route = route_of(connection);
  for (const std::uint32_t link : route.links()) carried_[link] += bytes;
  waiting_.push({message.ready, started_++, message});
}

void FluidNetwork::begin(const Message& message) {
  const auto [queue, is_first] = queues_.try_emplace(message.connection);
  if (!is_first) {
    queue->second.push_back(message);
    return;
  }
  flowing_.push_back(
      {route_of(message.connection), message.bytes, 0, message.connection, message.name});
  changed_ = true;
}

void FluidNetwork::begin_ready(double until) {
  while (!waiting_.empty() && waiting_.top().at <= until) {
    begin(waiting_.top().message);
    waiting_.pop();
  }
}

void FluidNetwork::share_links() {
  if (!changed_) return;
  changed_ = false;
  routes_.clear();
  for (const Flowing& flow : flowing_) routes_.push_back(&flow.route);
  const std::vector<double>& rates = solver_.solve(routes_);
  for (std::size_t i = 0; i < flowing_.size(); ++i) flowing_[i].rate = rates[i];
}

double FluidNetwork::next_end() const {
  double seconds = kNever;
  for (const Flowing& flow : flowing_) seconds = std::min(seconds, flow.left / flow.rate);
  return now_ + seconds;
}

/// What ends by `until` ends now; the next message of its connection takes its place.
void FluidNetwork::end_flows(double until) {
  for (std::size_t i = 0; i < flowing_.size();) {
    Flowing& flow = flowing_[i];
    if (flow.left > flow.rate * (until - now_) + kRounding) {
      ++i;
      continue;
    }
    ended_.push_back(flow.name);
    const auto queue = queues_.find(flow.connection);
    if (!queue->second.empty()) {
      flow.left += queue->second.front().bytes;
      flow.name = queue->second.front().name;
      queue->second.pop_front();
      ++i;
      continue;
    }
    queues_.erase(queue);
    changed_ = true;
    if (i + 1 < flowing_.size()) flow = std::move(flowing_.back());
    flowing_.pop_back();
  }
}

void FluidNetwork::end_packets(double until) {
  while (!packets_.empty() && packets_.top().at <= until) {
    ended_.push_back(packets_.top().message.name);
    packets_.pop();
  }
}

const std::vector<std::uint64_t>& FluidNetwork::advance(double limit) {
  ended_.clear();
  while (ended_.empty() && !idle()) {
    share_links();
    double moment = next_end();
    if (!packets_.empty()) moment = std::min(moment, packets_.top().at);
    if (!waiting_.empty()) moment = std::min(moment, waiting_.top().at);
    if (moment > limit) moment = limit;
    // The middle of the window: some ends come a little late, as many a little early.
    const double clock = std::min(moment + window_ / 2, limit);
    for (Flowing& flow : flowing_) flow.left -= flow.rate * (clock - now_);
    now_ = clock;
    const double until = std::min(clock + window_ / 2, limit);
    end_flows(until);
    end_packets(until);
    begin_ready(until);
    if (moment >= limit) break;
  }
  return ended_;
}

}  // namespace impart::cost

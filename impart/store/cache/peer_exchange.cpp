#include "impart/store/cache/peer_exchange.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "impart/store/payload_hash.h"

namespace impart::store {
namespace {

constexpr std::uint32_t kCachesTag = 4;
static_assert(kFrameBytes == sizeof(std::uint64_t));

}  // namespace

PeerExchange::PeerExchange(comm::Communicator& communicator, PayloadSizes sizes,
                           std::uint32_t steps_ahead)
    : communicator_(communicator),
      sizes_(std::move(sizes)),
      steps_ahead_(steps_ahead),
      outgoing_(communicator.size()),
      incoming_(communicator.size()) {}

void PeerExchange::add(Lane& lane, const CachePromise& promise) {
  const std::uint64_t bytes = sizes_(promise.id) + kFrameBytes;
  const bool fits = !lane.waiting.empty() && lane.waiting.back().step == promise.step &&
                    lane.waiting.back().bytes + bytes <= kMessageBytes;
  if (!fits) lane.waiting.push_back({.step = promise.step});
  lane.waiting.back().promises.push_back(promise);
  lane.waiting.back().bytes += bytes;
}

void PeerExchange::begin(std::span<const CachePromise> promises) {
  const std::lock_guard lock(mutex_);
  for (const CachePromise& promise : promises) {
    if (promise.from == communicator_.rank()) add(outgoing_[promise.to], promise);
    if (promise.to != communicator_.rank()) continue;
    add(incoming_[promise.from], promise);
    arrivals_[promise.id].visits = promise.visits;
  }
  is_open_ = !arrivals_.empty();
}

void PeerExchange::fill(Message& message, const Fetch& fetch) {
  message.buffer = std::make_unique_for_overwrite<std::byte[]>(message.bytes);
  std::byte* at = message.buffer.get();
  std::vector<std::byte> payload;
  for (const CachePromise& promise : message.promises) {
    const std::uint64_t bytes = sizes_(promise.id);
    const bool is_whole = fetch(promise.id, payload) && payload.size() == bytes;
    if (!is_whole) payload.assign(bytes, std::byte{0});
    const std::uint64_t hash = payload_hash(payload);
    const std::uint64_t said = is_whole ? hash : ~hash;
    std::memcpy(at, &said, kFrameBytes);
    std::copy(payload.begin(), payload.end(), at + kFrameBytes);
    at += kFrameBytes + bytes;
  }
}

void PeerExchange::begin_step(std::uint32_t step, const Fetch& fetch) {
  start(step + steps_ahead_, fetch);
  advance();
}

void PeerExchange::start(std::uint32_t last_step, const Fetch& fetch) {
  for (std::uint32_t peer = 0; peer < communicator_.size(); ++peer) {
    Lane& in = incoming_[peer];
    while (!in.waiting.empty() && in.waiting.front().step <= last_step) {
      Message& message = in.under_way.emplace_back(std::move(in.waiting.front()));
      in.waiting.pop_front();
      message.buffer = std::make_unique_for_overwrite<std::byte[]>(message.bytes);
      message.operation = communicator_.start_receive(
          {message.buffer.get(), static_cast<std::size_t>(message.bytes)}, peer, kCachesTag);
    }
  }
  for (std::uint32_t peer = 0; peer < communicator_.size(); ++peer) {
    Lane& out = outgoing_[peer];
    while (!out.waiting.empty() && out.waiting.front().step <= last_step) {
      Message& message = out.under_way.emplace_back(std::move(out.waiting.front()));
      out.waiting.pop_front();
      fill(message, fetch);
      message.operation = communicator_.start_send(
          {message.buffer.get(), static_cast<std::size_t>(message.bytes)}, peer, kCachesTag);
    }
  }
}

void PeerExchange::advance() {
  for (Lane& lane : outgoing_) {
    while (!lane.under_way.empty() && lane.under_way.front().operation->test()) {
      lane.under_way.pop_front();
    }
  }
  for (Lane& lane : incoming_) {
    while (!lane.under_way.empty() && lane.under_way.front().operation->test()) {
      unpack(lane.under_way.front());
      lane.under_way.pop_front();
    }
  }
}

void PeerExchange::unpack(const Message& message) {
  const std::byte* at = message.buffer.get();
  bytes_received_ += message.bytes;
  for (const CachePromise& promise : message.promises) {
    const std::uint64_t bytes = sizes_(promise.id);
    std::uint64_t said = 0;
    std::memcpy(&said, at, kFrameBytes);
    const std::span<const std::byte> payload(at + kFrameBytes, bytes);
    const bool is_whole = payload_hash(payload) == said;
    at += kFrameBytes + bytes;
    const std::lock_guard lock(mutex_);
    Arrival& arrival = arrivals_[promise.id];
    arrival.has_come = true;
    arrival.is_broken = !is_whole;
    if (is_whole) arrival.payload.assign(payload.begin(), payload.end());
  }
}

void PeerExchange::finish() {
  const auto is_idle = [](const Lane& lane) { return lane.under_way.empty(); };
  while (!std::all_of(outgoing_.begin(), outgoing_.end(), is_idle) ||
         !std::all_of(incoming_.begin(), incoming_.end(), is_idle)) {
    advance();
    std::this_thread::yield();
  }
  for (auto* lanes : {&outgoing_, &incoming_}) {
    for (Lane& lane : *lanes) lane.waiting.clear();
  }
  const std::lock_guard lock(mutex_);
  is_open_ = false;
  arrivals_.clear();
}

bool PeerExchange::promises(ExampleId id) const {
  if (!is_open_) return false;
  const std::lock_guard lock(mutex_);
  const auto at = arrivals_.find(id);
  return at != arrivals_.end() && !at->second.is_broken;
}

bool PeerExchange::awaits(ExampleId id) const {
  if (!is_open_) return false;
  const std::lock_guard lock(mutex_);
  const auto at = arrivals_.find(id);
  return at != arrivals_.end() && !at->second.has_come;
}

PeerExchange::Taken PeerExchange::take(ExampleId id, std::vector<std::byte>& payload) {
  if (!is_open_) return Taken::kNotPromised;
  const std::lock_guard lock(mutex_);
  const auto at = arrivals_.find(id);
  if (at == arrivals_.end() || !at->second.has_come) return Taken::kNotPromised;
  Arrival& arrival = at->second;
  if (arrival.is_broken) return Taken::kBroken;
  if (arrival.visits <= 1) {
    payload = std::move(arrival.payload);
    arrivals_.erase(at);
  } else {
    payload = arrival.payload;
    --arrival.visits;
  }
  return Taken::kHere;
}

}  // namespace impart::store

#include "impart/comm/communicator.h"

#include <bit>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::comm {

void Communicator::barrier() {
  count({.messages = static_cast<std::uint64_t>(std::bit_width(size_ - 1))});
  do_barrier();
}

void Communicator::broadcast(std::span<std::byte> bytes, std::uint32_t root) {
  if (root >= size_) {
    throw ConfigError(fmt::format("broadcast from process {} of {}", root, size_));
  }
  if (root == rank_) {
    count({.bytes = std::uint64_t{size_ - 1} * bytes.size(), .messages = size_ - 1});
  }
  do_broadcast(bytes, root);
}

template <class T>
void Communicator::reduce(std::span<T> values, Reduction reduction) {
  constexpr Element element = std::is_same_v<T, float>    ? Element::kFloat
                              : std::is_same_v<T, double> ? Element::kDouble
                                                          : Element::kInt64;
  count(cost_of_all_reduce(values.size_bytes()));
  do_all_reduce({values.data(), values.size(), element}, reduction);
}

void Communicator::all_reduce_sum(std::span<float> values) {
  reduce(values, Reduction::kSum);
}
void Communicator::all_reduce_sum(std::span<double> values) {
  reduce(values, Reduction::kSum);
}
void Communicator::all_reduce_sum(std::span<std::int64_t> values) {
  reduce(values, Reduction::kSum);
}
void Communicator::all_reduce_max(std::span<float> values) {
  reduce(values, Reduction::kMax);
}
void Communicator::all_reduce_max(std::span<double> values) {
  reduce(values, Reduction::kMax);
}
void Communicator::all_reduce_max(std::span<std::int64_t> values) {
  reduce(values, Reduction::kMax);
}

std::unique_ptr<PendingOperation> Communicator::start_all_reduce_sum(std::span<float> values) {
  count(cost_of_all_reduce(values.size_bytes()));
  return do_start_all_reduce({values.data(), values.size(), Element::kFloat}, Reduction::kSum);
}

std::unique_ptr<PendingOperation> Communicator::start_send(std::span<const std::byte> bytes,
                                                           std::uint32_t to, std::uint32_t tag) {
  check_peer(bytes.size(), to, tag);
  count({.bytes = bytes.size(), .messages = 1});
  return do_start_send(bytes, to, tag);
}

std::unique_ptr<PendingOperation> Communicator::start_receive(std::span<std::byte> bytes,
                                                              std::uint32_t from,
                                                              std::uint32_t tag) {
  check_peer(bytes.size(), from, tag);
  return do_start_receive(bytes, from, tag);
}

void Communicator::check_peer(std::size_t bytes, std::uint32_t peer, std::uint32_t tag) const {
  constexpr std::size_t kMostBytes = std::numeric_limits<std::int32_t>::max();
  if (peer < size_ && peer != rank_ && tag <= kLargestTag && bytes <= kMostBytes) return;
  throw ConfigError(fmt::format("process {} of {} cannot exchange {} bytes with process {}, tag {}",
                                rank_, size_, bytes, peer, tag));
}

void Communicator::all_gather(std::span<const std::byte> mine, std::span<const std::size_t> counts,
                              std::span<std::byte> all) {
  gather(mine, counts, all, 1);
}
void Communicator::all_gather(std::span<const float> mine, std::span<const std::size_t> counts,
                              std::span<float> all) {
  gather(std::as_bytes(mine), counts, std::as_writable_bytes(all), sizeof(float));
}

void Communicator::gather(std::span<const std::byte> mine, std::span<const std::size_t> counts,
                          std::span<std::byte> all, std::size_t width) {
  if (counts.size() != size_ || counts[rank_] * width != mine.size()) {
    throw ConfigError(
        fmt::format("process {} of {} gathers {} bytes, which is not what the counts say", rank_,
                    size_, mine.size()));
  }
  std::vector<std::size_t> ends(size_);
  std::inclusive_scan(counts.begin(), counts.end(), ends.begin());
  for (std::size_t& end : ends) end *= width;
  if (all.size() != ends.back()) {
    throw ConfigError(fmt::format("{} bytes are gathered into {}", ends.back(), all.size()));
  }
  count({.bytes = std::uint64_t{size_ - 1} * mine.size(), .messages = size_ - 1});
  do_all_gather(mine, ends, all);
}

Traffic Communicator::cost_of_all_reduce(std::size_t bytes) const {
  return {.bytes = 2 * std::uint64_t{bytes} * (size_ - 1) / size_,
          .messages = 2 * (std::uint64_t{size_} - 1)};
}

void Communicator::count(const Traffic& sent) {
  bytes_sent_.fetch_add(sent.bytes, std::memory_order_relaxed);
  messages_sent_.fetch_add(sent.messages, std::memory_order_relaxed);
}

}  // namespace impart::comm

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "impart/comm/communicator.h"
#include "impart/core/error.h"
#include "impart/placement/hosted_workers.h"
#include "impart/placement/move_plan.h"
#include "impart/placement/partition.h"
#include "impart/store/move_bytes.h"
#include "impart/store/store.h"
#include "tests/store/generated_source.h"

namespace impart::testing {

inline void require(bool holds, std::string_view what) {
  if (!holds) throw Error(fmt::format("wrong: {}", what));
}

/// This process holds what its workers own, every byte of it, and nothing else.
inline void check_settled(store::Store& store, const placement::Partition& partition,
                          const GeneratedSource& source, const placement::HostedWorkers& hosted) {
  std::vector<std::byte> payload;
  for (std::uint64_t i = 0; i < partition.examples(); ++i) {
    const ExampleId id{i};
    const bool mine = hosted.contains(partition.owner(id));
    require(store.holds(id) == mine, fmt::format("who holds example {}", i));
    if (!mine) continue;
    store.read(id, partition.owner(id), payload);
    require(payload == source.payload(id), fmt::format("the payload of example {}", i));
  }
}

/// The costs of moves are exactly those predicted, and nobody held more than its part and what
/// came.
inline void check_costs(const std::vector<store::StorageCost>& costs,
                        const placement::HostedWorkers& hosted,
                        const std::vector<store::StorageCost>& predicted,
                        const std::vector<std::uint64_t>& held_before) {
  for (std::uint32_t i = 0; i < hosted.count; ++i) {
    const std::uint32_t w = hosted.first + i;
    const store::StorageCost &is = costs[i], &should = predicted[w];
    const auto equal = [&](std::uint64_t a, std::uint64_t b, std::string_view what) {
      require(a == b, fmt::format("{} of worker {}: {} instead of {}", what, w, a, b));
    };
    equal(is.bytes_source, 0, "bytes from the source");
    equal(is.bytes_sent, should.bytes_sent, "bytes sent");
    equal(is.bytes_received, should.bytes_received, "bytes received");
    equal(is.sends, should.sends, "messages sent");
    equal(is.receives, should.receives, "messages received");
    equal(is.flows_sent, should.flows_sent, "flows sent");
    equal(is.flows_received, should.flows_received, "flows received");
    equal(is.examples_sent, should.examples_sent, "examples sent");
    equal(is.examples_received, should.examples_received, "examples received");
    equal(is.bytes_local, should.bytes_local, "bytes read locally");
    equal(is.bytes_written, should.bytes_written, "bytes written");
    require(is.peak_stored >= held_before[w], "a peak below what was held");
    require(is.peak_stored <= held_before[w] + should.examples_received, "the peak");
  }
}

inline store::PayloadSizes sizes_of(const data::PayloadSource& source) {
  return [&source](ExampleId id) { return source.payload_bytes(id); };
}

}  // namespace impart::testing

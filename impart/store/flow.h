#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "impart/core/ids.h"
#include "impart/placement/move_plan.h"

namespace impart::store {

/// What goes from one worker to another in one exchange: a run of a move plan. On the wire it is
/// the frames of its examples in the plan's order,
///
///     8 bytes   xxh3-64 of the payload, little-endian
///     b bytes   the payload
///
/// cut into pieces of FlowSpec::piece_bytes, each one message; only the last is shorter. Ids and
/// sizes do not travel: both sides know the plan and the size of every payload. The receiver
/// answers every batch of FlowSpec::batch_examples examples, once it is stored for good, with one
/// message of kAcknowledgementBytes: how many examples of the flow it has stored by now.
struct Flow {
  WorkerId from;
  WorkerId to;
  std::span<const placement::Move> moves;
};

/// How a flow is cut.
struct FlowSpec {
  std::uint64_t piece_bytes = std::uint64_t{1} << 20;  ///< 1 to 2^31 - 1
  std::uint64_t batch_examples = 512;                  ///< at least 1
  /// A receiver that writes to disk collects so many bytes before it syncs and answers: fewer
  /// syncs, but the sender keeps more for longer.
  std::uint64_t sync_bytes = std::uint64_t{16} << 20;
};

inline constexpr std::uint64_t kFrameBytes = 8;
inline constexpr std::uint64_t kAcknowledgementBytes = 8;

/// The number of bytes of an example's payload.
using PayloadSizes = std::function<std::uint64_t(ExampleId)>;

/// The flows of a plan, in its order. They point into the plan. Error if the plan is not sorted as
/// MovePlan says. Linear.
std::vector<Flow> cut_into_flows(const placement::MovePlan& plan);

/// Bytes of all frames.
std::uint64_t bytes_of(const Flow& flow, const PayloadSizes& sizes);

/// ⌈a/b⌉: pieces of a flow's bytes, batches of its examples.
constexpr std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

}  // namespace impart::store

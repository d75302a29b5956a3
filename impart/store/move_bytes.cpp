#include "impart/store/move_bytes.h"

#include <algorithm>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/store/shelf_journal.h"

namespace impart::store {

std::vector<StorageCost> predict_move_costs(const placement::MovePlan& plan,
                                            const PayloadSizes& sizes, const MoveBytesSpec& spec) {
  std::vector<StorageCost> costs(spec.workers);
  for (const Flow& flow : cut_into_flows(plan)) {
    if (std::max(index(flow.from), index(flow.to)) >= spec.workers) {
      throw ConfigError(fmt::format("a move goes from worker {} to worker {}, but there are {}",
                                    index(flow.from), index(flow.to), spec.workers));
    }
    StorageCost& from = costs[index(flow.from)];
    StorageCost& to = costs[index(flow.to)];
    const std::uint64_t examples = flow.moves.size();
    const std::uint64_t bytes = bytes_of(flow, sizes);
    const std::uint64_t pieces = divide_up(bytes, spec.flow.piece_bytes);
    const std::uint64_t answers = divide_up(examples, spec.flow.batch_examples);
    from.bytes_sent += bytes;
    to.bytes_received += bytes;
    from.sends += pieces;
    to.receives += pieces;
    to.bytes_sent += answers * kAcknowledgementBytes;
    from.bytes_received += answers * kAcknowledgementBytes;
    to.sends += answers;
    from.receives += answers;
    ++from.flows_sent;
    ++to.flows_received;
    from.examples_sent += examples;
    to.examples_received += examples;
    if (!spec.directory) continue;
    const std::uint64_t payloads = bytes - examples * kFrameBytes;
    from.bytes_local += payloads;
    from.bytes_written += examples * ShelfJournal::kRecordBytes;
    to.bytes_written += payloads + examples * ShelfJournal::kRecordBytes;
  }
  return costs;
}

}  // namespace impart::store

#pragma once

#include <cstdint>
#include <vector>

#include "impart/store/flow.h"
#include "impart/store/ledger.h"

namespace impart::store {

/// What is needed to know the cost of moves without making them.
struct MoveBytesSpec {
  std::uint32_t workers = 1;
  FlowSpec flow{};
  /// Whether the parts lie in local directories: then the bytes of the local files are there, too.
  bool directory = false;
};

/// What a partitioned store spends on a plan, worker by worker: bytes, messages, flows and examples
/// sent and received, exactly as the store counts them. With `directory` also bytes_local and
/// bytes_written, without the rare rewriting of a journal (below 0.5 % for payloads of 3 kB). The
/// other fields are 0. Pure; linear in the number of moves. ConfigError if a move names a worker
/// that is not below `workers`.
std::vector<StorageCost> predict_move_costs(const placement::MovePlan& plan,
                                            const PayloadSizes& sizes, const MoveBytesSpec& spec);

}  // namespace impart::store

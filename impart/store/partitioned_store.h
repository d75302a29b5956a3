#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "impart/comm/communicator.h"
#include "impart/data/payloads/payload_source.h"
#include "impart/store/flow.h"
#include "impart/store/held_parts.h"
#include "impart/store/store.h"

namespace impart::store {

struct PartitionedStoreSpec {
  std::uint32_t workers = 1;
  /// "": the parts are in memory. Else a local folder; worker w keeps its part in worker-NNNN there
  /// (w in decimal, at least 4 digits).
  std::string path{};
  /// Names the data set, for example by a hash: a folder with examples of another one is refused.
  std::string data_id{};
  FlowSpec flow{};
  std::uint32_t window = 4;  ///< pieces under way per pair of processes and direction, at least 1
  /// Moves are carried out by a thread of the store; else inside advance_moves(). It has one piece
  /// under way in each direction, whatever the window: sums wait behind no more than that.
  bool moves_behind = false;
  StoreObserver observer{};  ///< may be empty
};

/// A store in which a worker holds its part of the examples and nothing else; what changes owner
/// travels, once. An example is forgotten only after its new owner has stored it for good, so
/// whatever ends a run, each example is held at least once; settle() makes it exactly once.
///
/// Messages between processes go through the communicator. Workers of one process exchange through
/// the same steps without messages, and their costs are the same, so that costs do not depend on
/// the number of processes. A worker never holds more than what it held and what comes to it
/// together; Error otherwise.
///
/// When moving fails (IoError: the disk is full) the other processes learn the reason, at once also
/// where it was the store's thread that moved, and the store can only be destroyed. A store that is
/// destroyed in order, with nothing under way, is opened again without a check of every payload.
///
/// ConfigError if a number in the spec cannot be, or if the folder belongs to another data set or
/// is in use; DataError if it is damaged beyond repair. The communicator must outlive the store.
/// Collective: every process calls it, in the same order.
std::unique_ptr<Store> make_partitioned_store(const PartitionedStoreSpec& spec,
                                              comm::Communicator& communicator,
                                              std::shared_ptr<const data::PayloadSource> source);

}  // namespace impart::store

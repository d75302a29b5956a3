#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "impart/core/ids.h"
#include "impart/placement/move_plan.h"
#include "impart/placement/partition.h"
#include "impart/store/cache/cache_plan.h"
#include "impart/store/ledger.h"

namespace impart::store {

/// Where the bytes of the examples of a process's workers live. It follows the partition: settle()
/// brings it to a first partition, moves bring it to the next one.
///
/// read() and holds() may be called by several threads at a time, also while moves are under way;
/// all else by one thread, that of the communicator's collectives.
class Store {
 public:
  virtual ~Store() = default;

  /// Brings the store to this partition from whatever there is: nothing, the parts of an earlier
  /// run of the same data set, the remains of an interrupted exchange. Afterwards every worker
  /// holds exactly its part. Collective: every process calls it, in the same order.
  virtual void settle(const placement::Partition& partition) = 0;

  /// Starts to carry out a plan and returns. No other moves may be under way.
  /// Collective: every process calls it, in the same order.
  virtual void start_moves(const placement::MovePlan& plan) = 0;
  /// Moves on what can move without waiting, unless a thread of the store does; true when nothing
  /// is under way any more. Call it now and then while computing: bytes may travel only inside, and
  /// what went wrong with a move is thrown here.
  virtual bool advance_moves() = 0;
  /// Returns when this process has sent and received all and knows that it may forget what it sent.
  virtual void finish_moves();
  /// How many seconds since the last call moves were under way, those of settle() left out. For
  /// moments at which none are.
  virtual double take_seconds_moving() { return 0; }

  /// What the epoch that begins will read, for stores whose caches look ahead. What `reads` points
  /// to must live until end_epoch().
  /// Collective: every process calls it, in the same order.
  virtual void begin_epoch(const EpochReads& reads) { static_cast<void>(reads); }
  /// Before each step of the epoch: sends others what they need for it. Every process calls it for
  /// the same steps.
  virtual void begin_step(std::uint32_t step) { static_cast<void>(step); }
  /// After the last step that was run, also if that is not the last of the epoch. Returns when
  /// nothing is on its way between caches.
  virtual void end_epoch() {}

  /// Whether the example can be read here now. An example that moves here is held once it has
  /// arrived whole.
  virtual bool holds(ExampleId id) const = 0;
  /// Whether a visit will ask the data set's source for the example: what is read ahead of need is
  /// only that. `again`: another visit comes first and has not been made. May be wrong by the time
  /// it is read. Called by several threads at a time; cheap.
  virtual bool needs_source(ExampleId id, bool again) const {
    static_cast<void>(id), static_cast<void>(again);
    return false;
  }
  /// The payload of an example that a hosted worker owns, or is about to give away, at the cost of
  /// that worker. Error if it is not here, DataError if its bytes are damaged.
  virtual void read(ExampleId id, WorkerId worker, std::vector<std::byte>& payload) = 0;

  /// What the hosted workers' storage has cost since the last call, in the order of workers. Error
  /// while a thread of the store moves examples.
  virtual std::vector<StorageCost> take_costs() = 0;
};

}  // namespace impart::store

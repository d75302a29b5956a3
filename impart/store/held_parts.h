#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "impart/core/ids.h"
#include "impart/placement/hosted_workers.h"
#include "impart/store/ledger.h"
#include "impart/store/shelf.h"

namespace impart::store {

/// Told of every stage of an exchange, by the thread that moves: "piece sent", "piece received",
/// "record written", "batch stored", "batch acknowledged", "forgotten", "flow acknowledged",
/// "read from source".
using StoreObserver = std::function<void(std::string_view event)>;

/// The shelves of the workers that this process hosts, what they cost, and where each example is.
/// 4 bytes per example of the data set. Threads as for Store.
class HeldParts {
 public:
  /// Takes one shelf per hosted worker.
  HeldParts(placement::HostedWorkers hosted, std::vector<std::unique_ptr<Shelf>> shelves,
            std::uint64_t examples, StoreObserver observer);

  const placement::HostedWorkers& hosted() const { return hosted_; }
  Shelf& shelf(WorkerId worker) { return *part(worker).shelf; }
  StorageCost& cost(WorkerId worker) { return part(worker).cost; }
  void tell(std::string_view event) {
    ++events_;
    if (observer_) observer_(event);
  }
  /// How many were told: it stands still where nothing moves. For the thread that moves.
  std::uint64_t events() const { return events_; }

  bool holds(ExampleId id) const { return where(id) != kNowhere; }
  void read(ExampleId id, WorkerId worker, std::vector<std::byte>& payload);

  /// Looks through the shelves for where each example is; needed after a duplicate was forgotten.
  void locate();

  /// The most examples that the worker may hold from now on.
  void allow(WorkerId worker, std::uint64_t examples) { part(worker).allowed = examples; }
  /// Error if that is more than is allowed.
  void put(ExampleId id, WorkerId worker, std::span<const std::byte> payload, std::uint64_t hash);
  void forget(ExampleId id, WorkerId worker);

  std::vector<StorageCost> take_costs();
  /// Closes the shelves in order, as far as the disk lets it.
  void close() noexcept;

 private:
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
  struct Part {
    std::unique_ptr<Shelf> shelf;
    StorageCost cost;
    std::uint64_t allowed = ~std::uint64_t{0};
    std::uint64_t read_before = 0, written_before = 0;  ///< at the last take_costs()
    /// Bytes read for this worker on shelves of others, less those read here for others.
    std::atomic<std::int64_t> read_elsewhere = 0;
  };

  Part& part(WorkerId worker) { return parts_[index(worker) - hosted_.first]; }
  std::uint32_t where(ExampleId id) const {
    return where_[index(id)].load(std::memory_order_acquire);
  }

  placement::HostedWorkers hosted_;
  std::vector<Part> parts_;
  std::vector<std::atomic<std::uint32_t>> where_;  ///< of an example: a worker that holds it
  StoreObserver observer_;
  std::uint64_t events_ = 0;
};

}  // namespace impart::store

#include "impart/store/held_parts.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::store {

HeldParts::HeldParts(placement::HostedWorkers hosted, std::vector<std::unique_ptr<Shelf>> shelves,
                     std::uint64_t examples, StoreObserver observer)
    : hosted_(hosted), parts_(hosted.count), where_(examples), observer_(std::move(observer)) {
  for (std::uint32_t i = 0; i < hosted.count; ++i) {
    parts_[i].shelf = std::move(shelves[i]);
    parts_[i].cost.peak_stored = parts_[i].shelf->examples();
  }
  locate();
}

void HeldParts::locate() {
  for (auto& place : where_) place.store(kNowhere, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < hosted_.count; ++i) {
    for (const ExampleId id : parts_[i].shelf->held()) where_[index(id)] = hosted_.first + i;
  }
}

/// An example that moves between two hosted workers is put on the new shelf before it leaves the
/// old one, so whoever looks again finds it.
void HeldParts::read(ExampleId id, WorkerId worker, std::vector<std::byte>& payload) {
  if (!hosted_.contains(worker) || index(id) >= where_.size()) {
    throw Error(
        fmt::format("example {} of worker {} cannot be read by the process of workers {} "
                    "to {}",
                    index(id), index(worker), hosted_.first, hosted_.first + hosted_.count - 1));
  }
  for (std::uint32_t holder = where(id); holder != kNowhere; holder = where(id)) {
    Part& holding = part(WorkerId{holder});
    const auto bytes = holding.shelf->read(id, payload);
    if (!bytes) continue;
    if (holder == index(worker)) return;
    holding.read_elsewhere -= static_cast<std::int64_t>(*bytes);
    part(worker).read_elsewhere += static_cast<std::int64_t>(*bytes);
    return;
  }
  throw Error(
      fmt::format("example {} is not held by the process of worker {}", index(id), index(worker)));
}

void HeldParts::put(ExampleId id, WorkerId worker, std::span<const std::byte> payload,
                    std::uint64_t hash) {
  Part& to = part(worker);
  if (to.shelf->examples() >= to.allowed) {
    throw Error(
        fmt::format("worker {} would hold more than the {} examples of its part and what "
                    "comes to it",
                    index(worker), to.allowed));
  }
  to.shelf->put(id, payload, hash);
  to.cost.peak_stored = std::max(to.cost.peak_stored, to.shelf->examples());
  where_[index(id)].store(index(worker), std::memory_order_release);
  tell("record written");
}

void HeldParts::forget(ExampleId id, WorkerId worker) {
  std::uint32_t here = index(worker);
  where_[index(id)].compare_exchange_strong(here, kNowhere);
  part(worker).shelf->forget(id);
  tell("forgotten");
}

std::vector<StorageCost> HeldParts::take_costs() {
  std::vector<StorageCost> costs;
  for (Part& part : parts_) {
    const std::uint64_t read = part.shelf->bytes_read(), written = part.shelf->bytes_written();
    const std::int64_t mine =
        static_cast<std::int64_t>(read - part.read_before) + part.read_elsewhere.exchange(0);
    // A read that is just being booked to another worker is taken off the next time.
    if (mine < 0) part.read_elsewhere += mine;
    part.cost.bytes_local = static_cast<std::uint64_t>(std::max<std::int64_t>(mine, 0));
    part.cost.bytes_written = written - part.written_before;
    part.read_before = read;
    part.written_before = written;
    costs.push_back(std::exchange(part.cost, {.peak_stored = part.shelf->examples()}));
  }
  return costs;
}

void HeldParts::close() noexcept {
  for (Part& part : parts_) {
    try {
      part.shelf->close();
    } catch (const Error&) {
      continue;  // the next opening checks every payload
    }
  }
}

}  // namespace impart::store

#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/store/example_map.h"
#include "impart/store/shelf.h"

namespace impart::store {
namespace {

/// Memory of forgotten examples that is kept for the next ones.
constexpr std::uint64_t kMostSpareBytes = std::uint64_t{64} << 20;

class MemoryShelf final : public Shelf {
 public:
  std::uint64_t examples() const override { return entries_.size(); }

  std::vector<ExampleId> held() const override {
    std::vector<ExampleId> ids;
    ids.reserve(entries_.size());
    entries_.for_each([&](ExampleId id, const Entry&) { ids.push_back(id); });
    return ids;
  }

  std::optional<std::uint64_t> read(ExampleId id, std::vector<std::byte>& payload) override {
    const std::shared_lock lock(mutex_);
    const Entry* entry = entries_.find(id);
    if (entry == nullptr) return std::nullopt;
    payload.assign(entry->place.bytes.get(), entry->place.bytes.get() + entry->place.size);
    return 0;
  }

  std::uint64_t copy(ExampleId id, std::span<std::byte> payload) override {
    const Entry* entry = entries_.find(id);
    if (entry == nullptr || entry->place.size != payload.size()) {
      throw Error(fmt::format("example {} is not here, or of another size", index(id)));
    }
    if (!payload.empty()) std::memcpy(payload.data(), entry->place.bytes.get(), payload.size());
    return entry->hash;
  }

  void put(ExampleId id, std::span<const std::byte> payload, std::uint64_t hash) override {
    Entry entry{room_for(payload.size()), hash};
    if (!payload.empty()) std::memcpy(entry.place.bytes.get(), payload.data(), payload.size());
    const std::unique_lock lock(mutex_);
    if (!entries_.insert(id, std::move(entry))) {
      throw Error(fmt::format("example {} is here already", index(id)));
    }
  }

  void forget(ExampleId id) override {
    std::unique_lock lock(mutex_);
    std::optional<Entry> entry = entries_.extract(id);
    lock.unlock();
    if (!entry) throw Error(fmt::format("example {} is not here", index(id)));
    if (spare_bytes_ + entry->place.size > kMostSpareBytes) return;
    spare_bytes_ += entry->place.size;
    spare_.push_back(std::move(entry->place));
  }

 private:
  struct Place {
    std::unique_ptr<std::byte[]> bytes;
    std::uint64_t size = 0;
  };
  struct Entry {
    Place place;
    std::uint64_t hash = 0;
  };

  /// Spare places go to payloads of the same size: no search, no page faults.
  Place room_for(std::uint64_t size) {
    Place place;
    if (!spare_.empty()) {
      place = std::move(spare_.back());
      spare_.pop_back();
      spare_bytes_ -= place.size;
    }
    if (place.size == size && place.bytes) return place;
    return {std::make_unique_for_overwrite<std::byte[]>(size), size};
  }

  ExampleMap<Entry> entries_;
  std::vector<Place> spare_;  ///< of forgotten examples
  std::uint64_t spare_bytes_ = 0;
  std::shared_mutex mutex_;
};

}  // namespace

std::unique_ptr<Shelf> make_memory_shelf() {
  return std::make_unique<MemoryShelf>();
}

}  // namespace impart::store

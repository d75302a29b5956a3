#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/store/shelf.h"

namespace impart {
namespace {

/// Memory of forgotten examples that is kept for the next ones.
constexpr std::uint64_t kMostSpareBytes = std::uint64_t{64} << 20;

class MemoryShelf final : public Shelf {
 public:
  std::uint64_t examples() const override { return entries_.size(); }

  std::vector<ExampleId> held() const override {
    std::vector<ExampleId> ids;
    ids.reserve(entries_.size());
    for (const auto& [id, entry] : entries_) ids.push_back(id);
    return ids;
  }

  std::optional<std::uint64_t> read(ExampleId id, std::vector<std::byte>& payload) override {
    const std::shared_lock lock(mutex_);
    const auto at = entries_.find(id);
    if (at == entries_.end()) return std::nullopt;
    const std::byte* first = at->second.bytes.get();
    payload.assign(first, first + at->second.size);
    return 0;
  }

  std::uint64_t copy(ExampleId id, std::span<std::byte> payload) override {
    const Entry& entry = find(id)->second;
    if (entry.size != payload.size()) throw Error(fmt::format("example {} changed", index(id)));
    if (!payload.empty()) std::memcpy(payload.data(), entry.bytes.get(), entry.size);
    return entry.hash;
  }

  void put(ExampleId id, std::span<const std::byte> payload, std::uint64_t hash) override {
    Entries::node_type node = room_for(id, payload.size());
    if (!payload.empty()) std::memcpy(node.mapped().bytes.get(), payload.data(), payload.size());
    node.mapped().hash = hash;
    const std::unique_lock lock(mutex_);
    if (!entries_.insert(std::move(node)).inserted) {
      throw Error(fmt::format("example {} is here already", index(id)));
    }
  }

  void forget(ExampleId id) override {
    const auto at = find(id);
    Entries::node_type node;
    {
      const std::unique_lock lock(mutex_);
      node = entries_.extract(at);
    }
    if (spare_bytes_ + node.mapped().size > kMostSpareBytes) return;
    spare_bytes_ += node.mapped().size;
    spare_.push_back(std::move(node));
  }

 private:
  struct Entry {
    std::unique_ptr<std::byte[]> bytes;
    std::uint64_t size = 0;
    std::uint64_t hash = 0;
  };
  using Entries = std::unordered_map<ExampleId, Entry>;

  /// Spare places go to payloads of the same size: no search, no page faults.
  Entries::node_type room_for(ExampleId id, std::uint64_t size) {
    Entries::node_type node;
    if (spare_.empty()) {
      Entries one;
      one.emplace(id, Entry{});
      node = one.extract(one.begin());
    } else {
      node = std::move(spare_.back());
      spare_.pop_back();
      spare_bytes_ -= node.mapped().size;
      node.key() = id;
    }
    if (node.mapped().size != size || !node.mapped().bytes) {
      node.mapped().bytes = std::make_unique_for_overwrite<std::byte[]>(size);
      node.mapped().size = size;
    }
    return node;
  }

  Entries::iterator find(ExampleId id) {
    const auto at = entries_.find(id);
    if (at == entries_.end()) throw Error(fmt::format("example {} is not here", index(id)));
    return at;
  }

  Entries entries_;
  std::vector<Entries::node_type> spare_;  ///< of forgotten examples
  std::uint64_t spare_bytes_ = 0;
  std::shared_mutex mutex_;
};

}  // namespace

std::unique_ptr<Shelf> make_memory_shelf() {
  return std::make_unique<MemoryShelf>();
}

}  // namespace impart

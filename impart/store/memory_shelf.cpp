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
    Entry entry{std::make_unique_for_overwrite<std::byte[]>(payload.size()), payload.size(), hash};
    if (!payload.empty()) std::memcpy(entry.bytes.get(), payload.data(), payload.size());
    const std::unique_lock lock(mutex_);
    if (!entries_.emplace(id, std::move(entry)).second) {
      throw Error(fmt::format("example {} is here already", index(id)));
    }
  }

  void forget(ExampleId id) override {
    const auto at = find(id);
    const std::unique_lock lock(mutex_);
    entries_.erase(at);
  }

 private:
  struct Entry {
    std::unique_ptr<std::byte[]> bytes;
    std::uint64_t size;
    std::uint64_t hash;
  };
  using Entries = std::unordered_map<ExampleId, Entry>;

  Entries::iterator find(ExampleId id) {
    const auto at = entries_.find(id);
    if (at == entries_.end()) throw Error(fmt::format("example {} is not here", index(id)));
    return at;
  }

  Entries entries_;
  std::shared_mutex mutex_;
};

}  // namespace

std::unique_ptr<Shelf> make_memory_shelf() {
  return std::make_unique<MemoryShelf>();
}

}  // namespace impart

#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "impart/core/ids.h"

namespace impart::store {

/// What belongs to some of the examples: a hash table in one array, so that looking up costs one
/// miss of the cache, and ids in ascending order less than that. Eight neighbouring ids lie side by
/// side; groups of eight are spread. Any id but the largest 64-bit number.
template <class Value>
class ExampleMap {
 public:
  std::uint64_t size() const { return size_; }

  Value* find(ExampleId id) { return const_cast<Value*>(std::as_const(*this).find(id)); }
  /// Null if there is none. Valid until the map changes.
  const Value* find(ExampleId id) const {
    const std::uint64_t at = place_of(index(id));
    return slots_[at].id == index(id) ? &slots_[at].value : nullptr;
  }

  /// False, and nothing changed, if there is one already.
  bool insert(ExampleId id, Value&& value) {
    if (3 * (size_ + 1) > 2 * slots_.size()) grow();
    Slot& slot = slots_[place_of(index(id))];
    if (slot.id != kEmpty) return false;
    slot.id = index(id);
    slot.value = std::move(value);
    ++size_;
    return true;
  }

  /// Takes out what belongs to an example; nothing if it is not here.
  std::optional<Value> extract(ExampleId id) {
    std::uint64_t hole = place_of(index(id));
    if (slots_[hole].id == kEmpty) return std::nullopt;
    std::optional<Value> value = std::move(slots_[hole].value);
    for (std::uint64_t at = next(hole); slots_[at].id != kEmpty; at = next(at)) {
      if (distance(home(slots_[at].id), at) < distance(hole, at)) continue;
      slots_[hole] = std::move(slots_[at]);
      hole = at;
    }
    slots_[hole] = Slot{};
    --size_;
    return value;
  }

  /// Calls visit(id, value) for each, in no particular order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Slot& slot : slots_) {
      if (slot.id != kEmpty) visit(ExampleId{slot.id}, slot.value);
    }
  }

 private:
  static constexpr std::uint64_t kEmpty = std::numeric_limits<std::uint64_t>::max();
  struct Slot {
    std::uint64_t id = kEmpty;
    Value value{};
  };

  std::uint64_t mask() const { return slots_.size() - 1; }
  std::uint64_t next(std::uint64_t at) const { return (at + 1) & mask(); }
  std::uint64_t distance(std::uint64_t from, std::uint64_t to) const {
    return (to - from) & mask();
  }
  std::uint64_t home(std::uint64_t id) const {
    const std::uint64_t spread = ((id >> 3) * 0x9E37'79B9'7F4A'7C15u) >> 32;
    return ((spread << 3) | (id & 7)) & mask();
  }
  /// Where the id is, or would go.
  std::uint64_t place_of(std::uint64_t id) const {
    std::uint64_t at = home(id);
    while (slots_[at].id != id && slots_[at].id != kEmpty) at = next(at);
    return at;
  }
  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    std::swap(old, slots_);
    for (Slot& slot : old) {
      if (slot.id != kEmpty) slots_[place_of(slot.id)] = std::move(slot);
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(16);
  std::uint64_t size_ = 0;
};

}  // namespace impart::store

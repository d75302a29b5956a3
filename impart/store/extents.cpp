#include "impart/store/extents.h"

#include <iterator>

namespace impart::store {

Extent ExtentAllocator::allocate(std::uint64_t size) {
  if (size == 0) return {};
  const auto fit = by_size_.lower_bound({size, 0});
  if (fit == by_size_.end()) {
    const Extent extent{end_, size};
    end_ += size;
    return extent;
  }
  const Extent found{fit->second, fit->first};
  remove_free(free_.find(found.offset));
  if (found.size > size) add_free(found.offset + size, found.size - size);
  return {found.offset, size};
}

void ExtentAllocator::free(const Extent& extent) {
  if (extent.size == 0) return;
  std::uint64_t first = extent.offset, last = extent.end();
  const auto next = free_.find(last);
  if (next != free_.end()) {
    last += next->second;
    remove_free(next);
  }
  const auto after = free_.lower_bound(first);
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == first) {
      first = before->first;
      remove_free(before);
    }
  }
  if (last == end_) {
    end_ = first;
  } else {
    add_free(first, last - first);
  }
}

bool ExtentAllocator::reserve(const Extent& extent) {
  if (extent.size == 0) return true;
  if (extent.offset >= end_) {
    if (extent.offset > end_) add_free(end_, extent.offset - end_);
    end_ = extent.end();
    return true;
  }
  const auto after = free_.upper_bound(extent.offset);
  if (after == free_.begin()) return false;
  const auto holder = std::prev(after);
  const Extent found{holder->first, holder->second};
  if (found.end() < extent.end()) return false;
  remove_free(holder);
  if (found.offset < extent.offset) add_free(found.offset, extent.offset - found.offset);
  if (found.end() > extent.end()) add_free(extent.end(), found.end() - extent.end());
  return true;
}

void ExtentAllocator::add_free(std::uint64_t offset, std::uint64_t size) {
  free_.emplace(offset, size);
  by_size_.emplace(size, offset);
}

void ExtentAllocator::remove_free(std::map<std::uint64_t, std::uint64_t>::iterator at) {
  by_size_.erase({at->second, at->first});
  free_.erase(at);
}

}  // namespace impart::store

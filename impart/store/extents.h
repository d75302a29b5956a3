#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace impart::store {

/// A stretch of bytes of a file.
struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t end() const { return offset + size; }
  bool operator==(const Extent&) const = default;
};

/// Hands out stretches of a file and takes them back. The smallest free stretch that fits is used,
/// neighbours that are free become one, and the file grows only when nothing fits: with payloads of
/// one size it never grows beyond the most that were held at a time. O(log n) per call. Stretches
/// of no bytes take no place.
class ExtentAllocator {
 public:
  Extent allocate(std::uint64_t size);
  void free(const Extent& extent);
  /// Takes a given stretch; false if a part of it is taken.
  bool reserve(const Extent& extent);

  /// Where the last stretch in use ends: the bytes that the file needs.
  std::uint64_t end() const { return end_; }

 private:
  void add_free(std::uint64_t offset, std::uint64_t size);
  void remove_free(std::map<std::uint64_t, std::uint64_t>::iterator at);

  std::map<std::uint64_t, std::uint64_t> free_;                ///< offset → size, all below end_
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;  ///< (size, offset) of the same
  std::uint64_t end_ = 0;
};

}  // namespace impart::store

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "impart/core/ids.h"
#include "impart/placement/partition.h"

namespace impart::placement {

/// The examples that a selection has not hidden for good, numbered from 0: what is dealt and
/// exchanged. The others are never needed again, and stay where they are.
class Remaining {
 public:
  /// `gone` ascends.
  Remaining(std::uint64_t examples, std::span<const ExampleId> gone);

  bool all() const { return ids_.size() == examples_; }

  /// Of one value for each example, those of the remaining; an empty list stays empty.
  template <class T>
  std::vector<T> of(std::span<const T> values) const {
    std::vector<T> own;
    if (values.empty()) return own;
    own.reserve(ids_.size());
    for (const ExampleId id : ids_) own.push_back(values[index(id)]);
    return own;
  }
  Partition of(const Partition& partition) const;

  /// `before` with the owners that the remaining have in `dealt`.
  Partition put_back(const Partition& dealt, const Partition& before) const;

 private:
  std::uint64_t examples_;
  std::vector<ExampleId> ids_;
};

}  // namespace impart::placement

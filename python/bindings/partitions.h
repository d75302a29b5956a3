#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impart/placement/exchanges.h"
#include "impart/placement/partition.h"
#include "impart/placement/starts.h"
#include "python/bindings/arrays.h"

/// Between partitions and arrays of owners.
namespace impart::python {

using Owners = Array<std::uint32_t>;

inline placement::Partition partition_of(std::span<const std::uint32_t> owners,
                                         std::uint32_t workers) {
  std::vector<WorkerId> ids(owners.size());
  for (std::size_t i = 0; i < owners.size(); ++i) ids[i] = WorkerId{owners[i]};
  return {std::move(ids), workers};
}

inline std::vector<std::uint32_t> owners_of(const placement::Partition& partition) {
  return numbers_of<std::uint32_t>(partition.owners());
}

inline placement::PartSizes sizes_named(const std::string& name) {
  if (name == "free") return placement::PartSizes::kFree;
  if (name == "even") return placement::PartSizes::kEven;
  constexpr std::string_view kNames[] = {"free", "even"};
  throw_unknown_name("sizes", name, kNames);
}

/// What Python calls it.
inline const char* name_of(placement::ImportanceSource source) {
  switch (source) {
    case placement::ImportanceSource::kNone:
      return "none";
    case placement::ImportanceSource::kInferenceLoss:
      return "inference-loss";
    case placement::ImportanceSource::kTrainingLoss:
      return "training-loss";
    case placement::ImportanceSource::kNotion:
      return "notion";
  }
  return "none";
}

}  // namespace impart::python

#pragma once

#include <cstdint>

#include "impart/core/ids.h"
#include "impart/placement/hosted_workers.h"

namespace impart::placement {

/// Which workers' batches are normalised together: group k is the workers k·size to
/// (k + 1)·size - 1, the last perhaps fewer. Groups need not end where processes do.
struct NormGroups {
  std::uint32_t workers = 1;
  std::uint32_t size = 1;  ///< workers of a group
  std::uint32_t processes = 1;

  std::uint32_t group_of(std::uint32_t worker) const { return worker / size; }
  /// The workers of a group.
  HostedWorkers members(std::uint32_t group) const;
  /// How many groups have workers among these.
  std::uint32_t count_among(const HostedWorkers& hosted) const;
  /// Whether a group's workers are in several processes; whether that is so for any group.
  bool is_cut(std::uint32_t group) const;
  bool are_cut() const;
};

}  // namespace impart::placement

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "impart/placement/placement.h"

namespace impart::placement {

/// How often each example will be visited in an epoch: the mean over the epochs after this one, at
/// most so many, of what the selection would choose if nothing more were learned. Empty if every
/// example is visited once in all of them. Pure.
///
/// A visit brings another loss, and of examples near the mean nobody knows on which side they will
/// be. So where a selection looks at a score, half of it are the visits of those around: of the
/// half of the part to either side in the order of scores, rounded up to 1/64. Whoever is visited
/// more for a higher score thereby comes out in the order of scores.
std::vector<float> expected_visits(const Placement& placement, std::uint32_t epoch,
                                   std::uint32_t epochs_ahead = 8);

/// The same of what another source selects.
struct LaterVisits {
  std::function<Selected(std::uint32_t epoch)> select = {};
  std::uint32_t first = 0, last = 0;  ///< the epochs first..last-1, at least one
  std::uint64_t examples = 0;
  std::span<const float> scores = {};    ///< that it looks at; empty if at none
  std::span<const ExampleId> gone = {};  ///< for good
};
std::vector<float> expected_visits(const LaterVisits& later, const Parts& parts);

/// Whether workers keep most of their parts after this epoch: before the next one there is no new
/// partition, though there may be an exchange. The last epoch is as the one before it.
bool keeps_parts_after(const ScheduleSpec& schedule, std::uint32_t epoch);

}  // namespace impart::placement

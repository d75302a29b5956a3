#pragma once

#include <cstdint>
#include <vector>

#include "impart/placement/placement.h"

namespace impart::placement {

/// How often each example will be visited in an epoch: the mean over the epochs after this one, at
/// most so many, of what the selection would choose if nothing more were learned. Empty if every
/// example is visited once in all of them. Pure.
std::vector<float> expected_visits(const Placement& placement, std::uint32_t epoch,
                                   std::uint32_t epochs_ahead = 8);

/// Whether workers keep most of their parts after this epoch: before the next one there is no new
/// partition, though there may be an exchange. The last epoch is as the one before it.
bool keeps_parts_after(const ScheduleSpec& schedule, std::uint32_t epoch);

}  // namespace impart::placement

#pragma once

#include <cstdint>

#include "impart/comm/communicator.h"
#include "impart/config/config.h"
#include "impart/placement/placement.h"
#include "impart/train/run_data.h"

namespace impart::train {

/// Once an epoch is planned: tells who reads payloads ahead what the next epoch will visit, so that
/// it begins with payloads that are there. Only where that is known already: the partition stays,
/// and all examples are visited.
void plan_next_epoch(const config::RunConfig& config, const placement::Placement& placement,
                     const RunData& data, const comm::Communicator& communicator,
                     std::uint32_t epoch);

}  // namespace impart::train

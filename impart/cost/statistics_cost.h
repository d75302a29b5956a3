#pragma once

#include <cstdint>

#include "impart/config/config.h"
#include "impart/cost/epoch_time.h"

namespace impart::cost {

/// What all processes together send in a step so that batch norms share statistics
/// (`workers.batch_norm`): two sums per channel, in doubles, in the forward and again in the
/// backward pass. One group of all workers goes as an all-reduce; of any other that several
/// processes have, each sends its sums, under `reduce: exact` those of each worker, to the others.
/// 0 where groups lie within processes, and for models without batch norm.
double statistics_bytes_per_step(const config::RunConfig& config, std::uint32_t processes);

/// The same as what a node waits for, where each process is one.
SharedStatistics shared_statistics(const config::RunConfig& config, std::uint32_t processes);

}  // namespace impart::cost

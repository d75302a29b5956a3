#pragma once

#include <cstdint>

#include "impart/config/config.h"

namespace impart::train {

/// The learning rate of one step: `progress` is how many epochs of the run are over (2.5: the third
/// is half done), `epochs` how many it has. The warm-up rises linearly from 0 (not included) to lr;
/// the schedules run over what comes after it. Pure.
double learning_rate(const config::OptimizerConfig& optimizer, double progress,
                     std::uint32_t epochs, std::uint32_t steps_per_epoch);

}  // namespace impart::train

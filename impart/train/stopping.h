#pragma once

#include <cstdint>

#include "impart/config/config.h"
#include "impart/data/task.h"

namespace impart::train {

// When an evaluation ends a run: stop.at and stop.patience.

/// Whether an evaluation is what stop.at waits for. A result that is not known reaches nothing.
bool reaches(const config::StopConfig& stop, const data::Task& task,
             const data::TestOutcome& outcome);

/// How many evaluations there are after epoch `first` up to epoch `last`, both counted from 0, with
/// one after every `every` epochs.
std::uint32_t evaluations_between(std::uint32_t first, std::uint32_t last, std::uint32_t every);

}  // namespace impart::train

#pragma once

#include <span>

#include "impart/config/rules.h"

namespace impart::config {

// The rows of all_rules(), a file per topic.

/// Those of a run as a whole: its name, folder and device.
std::span<const Rule> run_rules();
/// Those of data, of the model that sees it, and of what it is judged by.
std::span<const Rule> data_rules();
/// Those of workers, of when their models agree, and of their optimiser.
std::span<const Rule> worker_rules();
/// Those of where the data lies and is kept.
std::span<const Rule> store_rules();
/// Those of who trains on what: partition, exchange, selection.
std::span<const Rule> placement_rules();

}  // namespace impart::config

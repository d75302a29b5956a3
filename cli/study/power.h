#pragma once

#include "cli/study/status.h"

namespace impart::cli {

/// Prints how many seeds it takes to see `difference` between each arm and the baseline, by the
/// runs so far. ConfigError for a study without a baseline.
void print_power(const StudyLook& look, double difference);

/// Prints the same as one JSON object.
void print_power_json(const StudyLook& look, double difference);

}  // namespace impart::cli

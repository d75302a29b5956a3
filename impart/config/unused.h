#pragma once

#include <string>
#include <vector>

#include "impart/config/config.h"

namespace impart::config {

/// Settings that are not at their default and change nothing, because the strategy that would look
/// at them is not the one that was taken: a sentence for each, "selection.share has no effect with
/// selection.strategy: all". Strategies of a program's own may look at anything.
std::vector<std::string> describe_unused(const RunConfig& config);

}  // namespace impart::config

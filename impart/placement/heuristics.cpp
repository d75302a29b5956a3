#include "impart/placement/heuristics.h"

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::placement {

void check_spec(const Scores& importance, const PartitionSpec& spec) {
  check_worker_count(spec.workers);
  if (!spec.labels.empty() && spec.labels.size() != importance.size()) {
    throw ConfigError(
        fmt::format("there are {} labels for {} examples", spec.labels.size(), importance.size()));
  }
  if (spec.sticky_to != nullptr && spec.sticky_to->examples() != importance.size()) {
    throw ConfigError(fmt::format("the previous partition is of {} examples, the importance of {}",
                                  spec.sticky_to->examples(), importance.size()));
  }
}

}  // namespace impart::placement

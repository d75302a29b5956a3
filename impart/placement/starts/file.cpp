#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/placement/starts.h"

namespace impart::placement {

Partition start_as_given(const StartSpec& spec) {
  check_start(spec);
  if (spec.given == nullptr) throw ConfigError("start file needs the owners that its file holds");
  if (spec.given->examples() != spec.examples) {
    throw ConfigError(fmt::format("the given start is of {} examples, but there are {}",
                                  spec.given->examples(), spec.examples));
  }
  return {{spec.given->owners().begin(), spec.given->owners().end()}, spec.workers};
}

}  // namespace impart::placement

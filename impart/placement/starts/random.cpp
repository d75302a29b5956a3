#include "impart/placement/heuristics.h"
#include "impart/placement/starts.h"

namespace impart::placement {

Partition start_at_random(const StartSpec& spec) {
  check_start(spec);
  const std::vector<float> nothing(spec.examples);
  return shuffle_evenly(nothing, {.workers = spec.workers, .seed = spec.seed});
}

}  // namespace impart::placement

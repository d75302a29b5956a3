#include <vector>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/ranking.h"

namespace impart::placement {

// Ranks become the quantiles of a normal distribution, so that importance and noise are on one
// scale whatever importance is measured in.
Partition cut_into_graded_blocks(const Scores& importance, const PartitionSpec& spec) {
  check_spec(importance, spec);
  if (!(spec.strength >= 0 && spec.strength <= 1)) {
    throw ConfigError(fmt::format("strength {} is not between 0 and 1", spec.strength));
  }
  const auto examples = static_cast<double>(importance.size());
  std::vector<double> graded(importance.size());
  double rank = 0;
  visit_by_importance(importance, [&](std::span<const ExampleId> run) {
    for (const ExampleId id : run) {
      graded[index(id)] = spec.strength * normal_quantile((examples - rank - 0.5) / examples);
      ++rank;
    }
  });
  RandomStream random(
      {.seed = spec.seed, .purpose = Purpose("graded-blocks"), .epoch = spec.epoch});
  for (double& value : graded) value += (1 - spec.strength) * random.normal();
  return cut_into_blocks(graded, spec);
}

}  // namespace impart::placement

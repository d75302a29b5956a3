#include "impart/cost/statistics_cost.h"

#include <algorithm>

#include "impart/config/model_names.h"
#include "impart/placement/norm_groups.h"

namespace impart::cost {
namespace {

/// Bytes of the sums of one pass.
double sums_of(const config::ModelConfig& model) {
  const config::ModelName* known = config::find_model_name(model.name);
  if (known == nullptr || model.norm != config::Norm::kBatch) return 0;
  return 2.0 * sizeof(double) * known->norm_channels;
}

placement::NormGroups groups_of(const config::WorkersConfig& workers, std::uint32_t processes) {
  return {.workers = workers.count, .size = workers.norm_group(), .processes = processes};
}

/// Processes that have workers of a group, less one.
std::uint32_t other_processes(const placement::NormGroups& groups, std::uint32_t group) {
  const auto [first, count] = groups.members(group);
  const auto rank_of = [&](std::uint32_t worker) {
    return placement::hosting_process(WorkerId{worker}, groups.workers, groups.processes);
  };
  return rank_of(first + count - 1) - rank_of(first);
}

}  // namespace

double statistics_bytes_per_step(const config::RunConfig& config, std::uint32_t processes) {
  const config::WorkersConfig& workers = config.workers;
  const placement::NormGroups groups = groups_of(workers, processes);
  if (!groups.are_cut()) return 0;
  const bool by_worker = workers.reduce == config::WorkersConfig::Reduce::kExact;
  double rows = 0;  // that are sent
  if (groups.size == groups.workers && !by_worker) {
    rows = 2.0 * (processes - 1);
  } else {
    for (std::uint32_t group = 0; group <= groups.group_of(workers.count - 1); ++group) {
      const double others = other_processes(groups, group);
      rows += others * (by_worker ? groups.members(group).count : others + 1);
    }
  }
  return 2 * rows * sums_of(config.model);
}

SharedStatistics shared_statistics(const config::RunConfig& config, std::uint32_t processes) {
  const placement::NormGroups groups = groups_of(config.workers, processes);
  const config::ModelName* known = config::find_model_name(config.model.name);
  const double bytes = 2 * sums_of(config.model);
  if (bytes == 0 || !groups.are_cut()) return {};
  std::uint32_t others = 0;
  for (std::uint32_t group = 0; group <= groups.group_of(config.workers.count - 1); ++group) {
    others = std::max(others, other_processes(groups, group));
  }
  return {.sums = 2 * known->norms, .bytes = bytes, .nodes = others + 1};
}

}  // namespace impart::cost

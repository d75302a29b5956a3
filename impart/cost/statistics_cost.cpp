#include "impart/cost/statistics_cost.h"

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

}  // namespace

double statistics_bytes_per_step(const config::RunConfig& config, std::uint32_t processes) {
  const config::WorkersConfig& workers = config.workers;
  const placement::NormGroups groups{
      .workers = workers.count, .size = workers.norm_group(), .processes = processes};
  if (!groups.are_cut()) return 0;
  const bool by_worker = workers.reduce == config::WorkersConfig::Reduce::kExact;
  double rows = 0;  // that are sent
  if (groups.size == groups.workers && !by_worker) {
    rows = 2.0 * (processes - 1);
  } else {
    for (std::uint32_t group = 0; group <= groups.group_of(workers.count - 1); ++group) {
      const auto [first, count] = groups.members(group);
      const auto rank_of = [&](std::uint32_t worker) {
        return placement::hosting_process(WorkerId{worker}, workers.count, processes);
      };
      const double others = rank_of(first + count - 1) - rank_of(first);
      rows += others * (by_worker ? count : others + 1);
    }
  }
  return 2 * rows * sums_of(config.model);
}

}  // namespace impart::cost

#include "impart/cost/cluster/cluster_strategies.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::cost {
namespace {

constexpr std::string_view kEpochPrefix = "epoch-";

/// Of "epoch-0007.csv"; nothing for other files.
std::optional<std::uint32_t> epoch_of(const std::filesystem::path& file) {
  const std::string name = file.stem().string();
  if (!name.starts_with(kEpochPrefix) || file.extension() != ".csv") return std::nullopt;
  std::uint32_t epoch = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kEpochPrefix.size(), end, epoch);
  if (error != std::errc() || stop != end) return std::nullopt;
  return epoch;
}

}  // namespace

std::vector<EpochExchange> simulate_strategy(const placement::PlacementSpec& decisions,
                                             const ClusterRunSpec& spec, const Progress& progress) {
  using Kind = placement::ScheduleEvent::Kind;
  SimulatedPlacement simulated(decisions, spec.placement);
  std::vector<EpochExchange> exchanges;
  bool is_first_heuristic = true;
  for (const placement::ScheduleEvent& event : simulated.schedule()) {
    if (exchanges.size() == spec.exchanges) break;
    const auto change = simulated.prepare_epoch(event.epoch);
    const bool warms_up = event.kind == Kind::kRandom || event.kind == Kind::kStart;
    const bool is_from_random = event.kind == Kind::kHeuristic &&
                                decisions.heuristic.uses_importance &&
                                std::exchange(is_first_heuristic, false);
    if (!change || warms_up || is_from_random) continue;
    exchanges.push_back({.epoch = event.epoch,
                         .exchange = simulate_exchange(change->plan, spec.cluster, progress),
                         .importance_pass = simulated.has_importance_pass(event)});
  }
  return exchanges;
}

RecordedPlans read_recorded_plans(const std::string& folder) {
  const std::filesystem::path partitions = std::filesystem::path(folder) / "partitions";
  std::vector<std::pair<std::uint32_t, std::filesystem::path>> files;
  if (std::filesystem::is_directory(partitions)) {
    for (const auto& entry : std::filesystem::directory_iterator(partitions)) {
      if (const auto epoch = epoch_of(entry.path())) files.emplace_back(*epoch, entry.path());
    }
  }
  if (files.size() < 2) {
    throw DataError(fmt::format(
        "{}: has not recorded two partitions; a run does so with partition.save=true", folder));
  }
  std::sort(files.begin(), files.end());
  RecordedPlans recorded;
  std::optional<placement::Partition> before;
  for (const auto& [epoch, path] : files) {
    placement::Partition now = placement::read_partition(path.string(), recorded.workers);
    if (before) {
      recorded.plans.push_back({epoch, placement::diff(*before, now)});
    } else {
      recorded.workers = now.workers();
      recorded.examples = now.examples();
    }
    before = std::move(now);
  }
  return recorded;
}

}  // namespace impart::cost

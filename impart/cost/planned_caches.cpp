#include "impart/cost/planned_caches.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/cost/synthetic_importance.h"
#include "impart/placement/expected_visits.h"
#include "impart/placement/hosted_workers.h"
#include "impart/placement/step_plan.h"

namespace impart::cost {
namespace {

using store::CacheTier;

/// Who keeps what is a byte for each example and process; beyond so many one process is simulated.
constexpr std::uint64_t kMostTiers = 50'000'000;
constexpr std::uint32_t kExpectedEpochs = 8;
/// Only the order of reads inside of a process depends on it.
constexpr std::uint32_t kStepRows = 32;

/// What a selection visits, with synthetic importance in place of the run's.
class SimulatedSelection {
 public:
  SimulatedSelection(const placement::PlacementSpec& decisions, const SimulatedPlacementSpec& spec)
      : decisions_(decisions),
        examples_(spec.examples),
        importance_({.examples = spec.examples, .seed = decisions.seed, .drift = spec.drift}),
        scores_(spec.examples, std::numeric_limits<float>::infinity()),
        correct_(spec.examples, 1) {
    // As much is hidden as is planned: a run hides at most that.
    decisions_.selecting.confidence = std::numeric_limits<double>::min();
  }

  placement::Selected select(const placement::Parts& parts, std::uint32_t epoch) const {
    placement::SelectionSpec asked = decisions_.selecting;
    asked.seed = decisions_.seed;
    asked.epoch = epoch;
    asked.epochs = decisions_.epochs.value_or(0);
    return placement::select_visits(
        decisions_.selection,
        {.parts = parts, .examples = examples_, .scores = scores_, .correct = correct_}, asked,
        gone_);
  }

  std::vector<float> expected(const placement::Parts& parts, std::uint32_t epoch) const {
    const std::uint32_t last =
        std::min(decisions_.epochs.value_or(epoch + 1), epoch + 1 + kExpectedEpochs);
    if (epoch + 1 >= last || decisions_.selection.name == placement::kSelections[0].name) return {};
    const bool looks = decisions_.selection.needs.source != placement::ImportanceSource::kNone;
    return placement::expected_visits(
        {.select = [&](std::uint32_t later) { return select(parts, later); },
         .first = epoch + 1,
         .last = last,
         .examples = examples_,
         .scores = looks ? std::span<const float>(scores_) : std::span<const float>(),
         .gone = gone_},
        parts);
  }

  void end_epoch(const placement::Selected& selected, std::uint32_t epoch) {
    std::vector<ExampleId> gone;
    std::set_union(gone_.begin(), gone_.end(), selected.gone.begin(), selected.gone.end(),
                   std::back_inserter(gone));
    gone_ = std::move(gone);
    const auto seen = importance_.at(epoch);
    scores_.assign(seen.begin(), seen.end());
  }

 private:
  placement::PlacementSpec decisions_;
  std::uint64_t examples_;
  SyntheticImportance importance_;
  std::vector<float> scores_;
  std::vector<std::uint8_t> correct_;
  std::vector<ExampleId> gone_;
};

class Simulation {
 public:
  Simulation(const placement::PlacementSpec& decisions, const PlannedCachesSpec& spec)
      : decisions_(decisions),
        spec_(spec),
        simulated_(decisions, spec.placement),
        selection_(decisions, spec.placement),
        schedule_(placement::schedule_spec(with_synthetic_importance(decisions))),
        caches_(spec, decisions.workers) {}

  CacheShares run_epoch(std::uint32_t epoch) {
    const auto event = placement::event_at(schedule_, epoch);
    if (event && simulated_.has_importance_pass(*event)) caches_.pass(partition().parts());
    simulated_.prepare_epoch(epoch);
    const placement::Parts parts = partition().parts();
    const placement::Selected selected = selection_.select(parts, epoch);
    const placement::StepPlan steps(simulated_.placement().order(epoch, selected.visits), kStepRows,
                                    placement::Uneven::kWeight);
    const std::vector<float> expected =
        spec_.policy->looks_at_visits ? selection_.expected(parts, epoch) : std::vector<float>();
    caches_.read({.steps = &steps,
                  .partition = &partition(),
                  .keeps_parts = placement::keeps_parts_after(schedule_, epoch),
                  .expected_visits = expected});
    if (decisions_.selection.needs.refresh) {
      caches_.pass(placement::hidden_parts(parts, selected, spec_.placement.examples));
    }
    selection_.end_epoch(selected, epoch);
    return caches_.take_shares();
  }

 private:
  const placement::Partition& partition() const { return simulated_.placement().partition(); }

  placement::PlacementSpec decisions_;
  PlannedCachesSpec spec_;
  SimulatedPlacement simulated_;
  SimulatedSelection selection_;
  placement::ScheduleSpec schedule_;
  PlannedCaches caches_;
};

PlannedCachesSpec checked(const PlannedCachesSpec& spec, std::uint32_t workers) {
  if (spec.processes > 0 && spec.processes <= workers) return spec;
  throw ConfigError(fmt::format("{} processes cannot host {} workers; each needs at least one",
                                spec.processes, workers));
}

}  // namespace

PlannedCaches::PlannedCaches(const PlannedCachesSpec& spec, std::uint32_t workers)
    : spec_(checked(spec, workers)), workers_(workers), plan_(plan_spec()) {}

store::CachePlanSpec PlannedCaches::plan_spec() {
  const std::uint64_t tiers = spec_.placement.examples * spec_.processes;
  if (!spec_.cooperative && tiers > kMostTiers) only_ = 0;
  return {.examples = spec_.placement.examples,
          .workers = workers_,
          .processes = spec_.processes,
          .memory_bytes = spec_.memory,
          .disk_bytes = spec_.disk,
          .worth = spec_.policy->function,
          .cooperative = spec_.cooperative && spec_.processes > 1,
          .sizes = [](ExampleId) { return std::uint64_t{1}; },
          .steps_ahead = spec_.steps_ahead,
          .only = only_};
}

void PlannedCaches::read(const store::EpochReads& reads) {
  const store::EpochCaching caching = plan_.begin_epoch(reads, spec_.moves_from_peers && !only_);
  for (std::uint32_t process = 0; process < spec_.processes; ++process) {
    if (!counts(process)) continue;
    const store::CacheCounts& found = caching.processes[process].counts;
    hits_.memory += static_cast<double>(found.memory_hits);
    hits_.disk += static_cast<double>(found.disk_hits);
    hits_.peers += static_cast<double>(found.peer_hits);
    reads_ +=
        static_cast<double>(found.memory_hits + found.disk_hits + found.peer_hits + found.misses);
  }
}

void PlannedCaches::pass(const placement::Parts& parts) {
  for (std::uint32_t w = 0; w < parts.workers(); ++w) {
    const std::uint32_t process =
        placement::hosting_process(WorkerId{w}, workers_, spec_.processes);
    if (!counts(process)) continue;
    for (const ExampleId id : parts.of(WorkerId{w})) {
      const CacheTier tier = plan_.tier(process, id);
      hits_.memory += tier == CacheTier::kMemory;
      hits_.disk += tier == CacheTier::kDisk;
      ++reads_;
    }
  }
}

CacheShares PlannedCaches::take_shares() {
  const double all = std::max(1.0, reads_);
  const CacheShares shares{hits_.memory / all, hits_.disk / all, hits_.peers / all};
  hits_ = {};
  reads_ = 0;
  return shares;
}

std::vector<CacheShares> simulate_planned_caches(const placement::PlacementSpec& decisions,
                                                 const PlannedCachesSpec& spec) {
  Simulation simulation(decisions, spec);
  std::vector<CacheShares> shares;
  for (std::uint32_t epoch = 0; epoch < std::min(spec.epochs, decisions.epochs.value()); ++epoch) {
    shares.push_back(simulation.run_epoch(epoch));
  }
  return shares;
}

}  // namespace impart::cost

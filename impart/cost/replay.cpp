#include "impart/cost/replay.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/cost/cache_simulation.h"
#include "impart/importance/known_importance.h"
#include "impart/importance/notions.h"
#include "impart/placement/expected_visits.h"
#include "impart/placement/placement.h"

namespace impart::cost {
namespace {

using placement::ImportanceSource;
using Kind = placement::ScheduleEvent::Kind;

bool looks_at_notion(const placement::PlacementSpec& decisions) {
  return decisions.heuristic.uses_importance ||
         decisions.selection.needs.source == ImportanceSource::kNotion ||
         (decisions.exchange && decisions.exchange->source == ImportanceSource::kNotion);
}

bool is_of_losses(const importance::AnyNotion& notion) {
  using enum importance::StateSet;
  return !overlap(notion.needs, kProbabilityMean | kProbabilityVariance | kCorrect | kMargin |
                                    kEntropy | kErrorNorm | kGradientBound | kForgetting | kTruth);
}

/// The same decisions, that measure nothing besides what they look at.
placement::PlacementSpec of_losses(placement::PlacementSpec decisions, const std::string& folder) {
  if (decisions.selection.needs.correct) {
    throw ConfigError(
        fmt::format("selection.strategy: {} looks at whether visits were right, and {}/history.npy "
                    "has losses only; take another strategy, or made importance",
                    decisions.selection.name, folder));
  }
  if (!looks_at_notion(decisions)) {
    decisions.notion = find_entry(importance::kNotions, "notion", placement::kLaggingLoss);
  } else if (!is_of_losses(decisions.notion)) {
    throw ConfigError(
        fmt::format("importance.notion: {} looks at more than losses, and {}/history.npy has only "
                    "these; take loss-average, loss-variance, loss-last or loss-ema, or made "
                    "importance",
                    decisions.notion.name, folder));
  }
  decisions.record.clear();
  decisions.history = false;
  return decisions;
}

void check_fits(const placement::PlacementSpec& decisions, const RecordedLosses& losses) {
  if (decisions.workers != losses.workers) {
    throw ConfigError(
        fmt::format("there are {} workers, and {} had {}: with others it would have "
                    "found other losses",
                    decisions.workers, losses.folder, losses.workers));
  }
  if (decisions.epochs.value() > losses.by_epoch.size()) {
    throw ConfigError(fmt::format("there are {} epochs, and {} has losses of {}; give --epochs {}",
                                  decisions.epochs.value(), losses.folder, losses.by_epoch.size(),
                                  losses.by_epoch.size()));
  }
}

/// What the caches of a replicated store answer, whichever they are.
class Caches {
 public:
  Caches(const PlannedCachesSpec& spec, std::uint32_t workers) {
    if (spec.memory == 0 && spec.disk == 0) return;
    if (spec.policy->is_planned) {
      planned_.emplace(spec, workers);
      return;
    }
    memory_.emplace(workers, spec.processes, spec.memory);
    // A disk holds what memory does, too.
    if (spec.disk > spec.memory) disk_.emplace(workers, spec.processes, spec.disk);
  }

  void pass(const placement::Parts& lists) {
    if (planned_) planned_->pass(lists);
    read_recent(lists);
  }
  void read(const store::EpochReads& reads, const placement::Parts& order) {
    if (planned_) planned_->read(reads);
    read_recent(order);
  }

  CacheShares take_shares() {
    if (planned_) return planned_->take_shares();
    CacheShares shares;
    if (memory_) shares.memory = memory_->take_share();
    if (disk_) shares.disk = std::max(0.0, disk_->take_share() - shares.memory);
    return shares;
  }

 private:
  void read_recent(const placement::Parts& lists) {
    if (memory_) memory_->read(lists);
    if (disk_) disk_->read(lists);
  }

  std::optional<PlannedCaches> planned_;
  std::optional<RecentCaches> memory_, disk_;
};

class Replaying {
 public:
  Replaying(const placement::PlacementSpec& decisions, const ReplaySpec& spec)
      : spec_(spec),
        losses_(*spec.losses),
        placement_(of_losses(decisions, losses_.folder), data_of(decisions)),
        schedule_(placement::schedule_spec(placement_.spec())),
        caches_(caches_spec(), decisions.workers),
        last_(losses_.examples, std::numeric_limits<float>::quiet_NaN()) {}

  void run_epoch(std::uint32_t epoch, Replay& replay) {
    begin_epoch(epoch, replay.moves);
    const placement::Selected selected = placement_.select(epoch);
    read_visits(epoch, selected);
    const bool refreshes = placement_.spec().selection.needs.refresh;
    if (refreshes) caches_.pass(hidden(selected));
    replay.visits.push_back(shares_of(selected, losses_.examples, refreshes));
    replay.caches.push_back(caches_.take_shares());
    observe(epoch, selected);
    if (refreshes) observe(epoch, hidden(selected));
    placement_.end_epoch(selected);
  }

 private:
  placement::PlacementData data_of(const placement::PlacementSpec& decisions) const {
    placement::PlacementData data = make_placement_data(decisions, caches_spec().placement);
    if (!losses_.labels.empty()) data.labels = losses_.labels;
    return data;
  }

  PlannedCachesSpec caches_spec() const {
    PlannedCachesSpec caches = spec_.caches;
    caches.placement.examples = losses_.examples;
    return caches;
  }

  placement::Parts hidden(const placement::Selected& selected) const {
    return placement::hidden_parts(placement_.partition().parts(), selected, losses_.examples);
  }

  void begin_epoch(std::uint32_t epoch, SimulatedMoves& moves) {
    const auto event = placement::event_at(schedule_, epoch);
    if (!event) return;
    EventMoves found{.event = *event};
    found.importance_pass = event->kind == Kind::kExchange &&
                            placement_.spec().exchange->source == ImportanceSource::kInferenceLoss;
    if (found.importance_pass) caches_.pass(placement_.partition().parts());
    const placement::Partition before = placement_.partition();
    const auto change = placement_.prepare_epoch(epoch, [&] {
      std::vector<float> known = last_;
      importance::fill_unknown(known);
      return known;
    });
    found.moved = static_cast<double>(change->moved);
    found.flows = static_cast<double>(change->messages);
    found.peak = static_cast<double>(most_held(before, placement_.partition()));
    moves.events.push_back(found);
    ++moves.carried_out;
  }

  void read_visits(std::uint32_t epoch, const placement::Selected& selected) {
    const bool selects = placement_.spec().selection.name != placement::kSelections[0].name;
    const placement::Parts order = placement_.order(epoch, selected.visits);
    const placement::StepPlan steps(
        order, spec_.batch, spec_.uneven,
        selects ? placement::LastStep::kShared : placement::LastStep::kShort);
    const bool looks = spec_.caches.policy != nullptr && spec_.caches.policy->looks_at_visits;
    const std::vector<float> expected =
        looks ? placement::expected_visits(placement_, epoch) : std::vector<float>();
    caches_.read({.steps = &steps,
                  .partition = &placement_.partition(),
                  .keeps_parts = placement::keeps_parts_after(schedule_, epoch),
                  .expected_visits = expected},
                 order);
  }

  /// What the run found there, or else had found before.
  void observe(std::uint32_t epoch, const placement::Selected& selected) {
    const std::vector<float>& recorded = losses_.by_epoch[epoch];
    for (std::size_t i = 0; i < recorded.size(); ++i) {
      if (!std::isnan(recorded[i])) last_[i] = recorded[i];
    }
    observe(epoch, selected.visits);
  }

  void observe(std::uint32_t epoch, const placement::Parts& lists) {
    std::vector<bool> is_seen(losses_.examples);
    std::vector<ExampleId> ids;
    std::vector<float> found;
    for (std::uint32_t w = 0; w < lists.workers(); ++w) {
      for (const ExampleId id : lists.of(WorkerId{w})) {
        if (is_seen[index(id)] || std::isnan(last_[index(id)])) continue;
        is_seen[index(id)] = true;
        ids.push_back(id);
        found.push_back(last_[index(id)]);
      }
    }
    placement_.table().observe(epoch, ids, {.loss = found});
  }

  const ReplaySpec& spec_;
  const RecordedLosses& losses_;
  placement::Placement placement_;
  placement::ScheduleSpec schedule_;
  Caches caches_;
  std::vector<float> last_;  ///< the loss that each example had at last; NaN: none so far
};

}  // namespace

Replay replay_run(const placement::PlacementSpec& decisions, const ReplaySpec& spec,
                  const Progress& progress) {
  check_fits(decisions, *spec.losses);
  Replaying replaying(decisions, spec);
  Replay replay;
  const std::uint32_t epochs = decisions.epochs.value();
  for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
    replaying.run_epoch(epoch, replay);
    if (progress) progress(epoch + 1, epochs);
  }
  return replay;
}

}  // namespace impart::cost

#include "impart/placement/placement_spec.h"

#include <algorithm>

namespace impart::placement {

ScheduleSpec schedule_spec(const PlacementSpec& spec) {
  return {.epochs = spec.epochs.value_or(spec.warmup + 1),
          .open_end = !spec.epochs.has_value(),
          .warmup = spec.warmup,
          .has_start = spec.start.name != kRandomStart,
          .warmup_shuffle = spec.warmup_shuffle,
          .interval = spec.interval,
          .ignore = spec.ignore,
          .exchange = spec.exchange.has_value(),
          .needs_importance =
              spec.heuristic.uses_importance && importance::needs_visits(spec.notion.needs)};
}

std::vector<importance::AnyNotion> tracked_notions(const PlacementSpec& spec) {
  std::vector<importance::AnyNotion> notions = {spec.notion};
  const auto add = [&](const importance::AnyNotion& notion) {
    const auto same = [&](const importance::AnyNotion& known) { return known.name == notion.name; };
    if (std::none_of(notions.begin(), notions.end(), same)) notions.push_back(notion);
  };
  for (const importance::AnyNotion& notion : spec.record) add(notion);
  const bool exchange_looks =
      spec.exchange && spec.exchange->source == ImportanceSource::kTrainingLoss;
  if (exchange_looks || spec.selection.needs.source == ImportanceSource::kTrainingLoss) {
    add(find_entry(importance::kNotions, "notion", kLaggingLoss));
  }
  return notions;
}

importance::StateSet kept_state(const PlacementSpec& spec) {
  return spec.selection.needs.correct ? importance::StateSet::kForgetting
                                      : importance::StateSet::kNothing;
}

}  // namespace impart::placement

#include "impart/cost/simulated_placement.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/importance/notions.h"

namespace impart::cost {
namespace {

using Kind = placement::ScheduleEvent::Kind;

std::vector<ExampleId> first_ids(std::uint64_t count) {
  std::vector<ExampleId> ids(count);
  for (std::uint64_t i = 0; i < count; ++i) ids[i] = ExampleId{i};
  return ids;
}

}  // namespace

placement::PlacementData make_placement_data(const placement::PlacementSpec& decisions,
                                             const SimulatedPlacementSpec& spec) {
  if (decisions.start.needs_file) {
    throw ConfigError(
        "partition.start: what becomes of a file's owners is not simulated; take another start");
  }
  placement::PlacementData data{.examples = spec.examples};
  if (!decisions.heuristic.uses_labels && !decisions.start.uses_labels) return data;
  if (spec.classes == 0) throw ConfigError("classes is 0; there must be at least 1");
  data.labels.resize(spec.examples);
  for (std::uint64_t i = 0; i < spec.examples; ++i) {
    data.labels[i] = static_cast<std::uint32_t>(i % spec.classes);
  }
  return data;
}

placement::PlacementSpec with_synthetic_importance(placement::PlacementSpec decisions) {
  decisions.notion = find_entry(importance::kNotions, "notion", "loss-last");
  decisions.record.clear();
  decisions.ignore = 0;
  decisions.window = importance::WindowKind::kInterval;
  decisions.history = false;
  decisions.selection = placement::kSelections[0];  // it moves nothing
  return decisions;
}

SimulatedPlacement::SimulatedPlacement(const placement::PlacementSpec& decisions,
                                       const SimulatedPlacementSpec& spec)
    : decisions_(with_synthetic_importance(decisions)),
      schedule_(placement::make_schedule(placement::schedule_spec(decisions_))),
      ids_(first_ids(spec.examples)),
      importance_({.examples = spec.examples, .seed = decisions.seed, .drift = spec.drift}),
      placement_(decisions_, make_placement_data(decisions_, spec)) {}

bool SimulatedPlacement::looks_at_table(Kind kind) const {
  if (kind == Kind::kRandom || kind == Kind::kStart) return false;
  if (kind == Kind::kHeuristic) return decisions_.heuristic.uses_importance;
  const auto source = decisions_.exchange->source;
  return source == placement::ImportanceSource::kTrainingLoss ||
         source == placement::ImportanceSource::kNotion;
}

bool SimulatedPlacement::has_importance_pass(const placement::ScheduleEvent& event) const {
  return event.kind == Kind::kExchange &&
         decisions_.exchange->source == placement::ImportanceSource::kInferenceLoss;
}

std::optional<placement::PlacementChange> SimulatedPlacement::prepare_epoch(std::uint32_t epoch) {
  const auto event = std::lower_bound(
      schedule_.begin(), schedule_.end(), epoch,
      [](const placement::ScheduleEvent& e, std::uint32_t wanted) { return e.epoch < wanted; });
  if (event == schedule_.end() || event->epoch != epoch) return std::nullopt;
  if (looks_at_table(event->kind)) {
    placement_.table().observe(epoch - 1, ids_, {.loss = importance_.at(epoch - 1)});
  }
  return placement_.prepare_epoch(epoch, [&] {
    const auto losses = importance_.at(epoch);
    return std::vector<float>(losses.begin(), losses.end());
  });
}

}  // namespace impart::cost

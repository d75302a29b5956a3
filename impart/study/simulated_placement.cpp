#include "impart/study/simulated_placement.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/partition/exchanges.h"
#include "impart/partition/heuristics.h"

namespace impart {
namespace {

using Kind = ScheduleEvent::Kind;

PlacementData make_data(const RunConfig& config, const SimulatedPlacementSpec& spec) {
  PlacementData data{.examples = spec.examples};
  const auto& heuristic = find_entry(kHeuristics, "heuristic", config.partition.heuristic);
  if (!heuristic.uses_labels) return data;
  if (spec.classes == 0) throw ConfigError("classes is 0; there must be at least 1");
  data.labels.resize(spec.examples);
  for (std::uint64_t i = 0; i < spec.examples; ++i) {
    data.labels[i] = static_cast<std::uint32_t>(i % spec.classes);
  }
  return data;
}

std::vector<ExampleId> first_ids(std::uint64_t count) {
  std::vector<ExampleId> ids(count);
  for (std::uint64_t i = 0; i < count; ++i) ids[i] = ExampleId{i};
  return ids;
}

}  // namespace

RunConfig with_synthetic_importance(RunConfig config) {
  config.importance = {.notion = "loss-last", .ignore = 0};
  return config;
}

SimulatedPlacement::SimulatedPlacement(const RunConfig& config, const SimulatedPlacementSpec& spec)
    : config_(with_synthetic_importance(config)),
      schedule_(make_schedule(schedule_spec(config_))),
      ids_(first_ids(spec.examples)),
      importance_({.examples = spec.examples, .seed = config.seed, .drift = spec.drift}),
      placement_(config_, make_data(config_, spec)) {}

bool SimulatedPlacement::looks_at_table(Kind kind) const {
  if (kind == Kind::kRandom) return false;
  if (kind == Kind::kHeuristic) {
    return find_entry(kHeuristics, "heuristic", config_.partition.heuristic).uses_importance;
  }
  const auto source = find_entry(kExchanges, "exchange", config_.exchange.strategy).source;
  return source == ImportanceSource::kTrainingLoss || source == ImportanceSource::kNotion;
}

bool SimulatedPlacement::has_importance_pass(const ScheduleEvent& event) const {
  return event.kind == Kind::kExchange &&
         find_entry(kExchanges, "exchange", config_.exchange.strategy).source ==
             ImportanceSource::kInferenceLoss;
}

std::optional<PlacementChange> SimulatedPlacement::prepare_epoch(std::uint32_t epoch) {
  const auto event = std::lower_bound(
      schedule_.begin(), schedule_.end(), epoch,
      [](const ScheduleEvent& e, std::uint32_t wanted) { return e.epoch < wanted; });
  if (event == schedule_.end() || event->epoch != epoch) return std::nullopt;
  if (looks_at_table(event->kind)) {
    placement_.table().observe(epoch - 1, ids_, {.loss = importance_.at(epoch - 1)});
  }
  return placement_.prepare_epoch(epoch, [&] {
    const auto losses = importance_.at(epoch);
    return std::vector<float>(losses.begin(), losses.end());
  });
}

}  // namespace impart

#include "impart/cost/simulated_placement.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/placement/exchanges.h"
#include "impart/placement/heuristics.h"

namespace impart::cost {
namespace {

using Kind = placement::ScheduleEvent::Kind;

placement::PlacementData make_data(const config::RunConfig& config,
                                   const SimulatedPlacementSpec& spec) {
  placement::PlacementData data{.examples = spec.examples};
  const auto& heuristic =
      find_entry(placement::kHeuristics, "heuristic", config.partition.heuristic);
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

config::RunConfig with_synthetic_importance(config::RunConfig config) {
  config.importance = {.notion = "loss-last", .ignore = 0};
  return config;
}

SimulatedPlacement::SimulatedPlacement(const config::RunConfig& config,
                                       const SimulatedPlacementSpec& spec)
    : config_(with_synthetic_importance(config)),
      schedule_(
          placement::make_schedule(placement::schedule_spec(config::placement_spec(config_)))),
      ids_(first_ids(spec.examples)),
      importance_({.examples = spec.examples, .seed = config.seed, .drift = spec.drift}),
      placement_(config::placement_spec(config_), make_data(config_, spec)) {}

bool SimulatedPlacement::looks_at_table(Kind kind) const {
  if (kind == Kind::kRandom) return false;
  if (kind == Kind::kHeuristic) {
    return find_entry(placement::kHeuristics, "heuristic", config_.partition.heuristic)
        .uses_importance;
  }
  const auto source =
      find_entry(placement::kExchanges, "exchange", config_.exchange.strategy).source;
  return source == placement::ImportanceSource::kTrainingLoss ||
         source == placement::ImportanceSource::kNotion;
}

bool SimulatedPlacement::has_importance_pass(const placement::ScheduleEvent& event) const {
  return event.kind == Kind::kExchange &&
         find_entry(placement::kExchanges, "exchange", config_.exchange.strategy).source ==
             placement::ImportanceSource::kInferenceLoss;
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

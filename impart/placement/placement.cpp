#include "impart/placement/placement.h"

#include <algorithm>
#include <utility>

#include "impart/placement/epoch_order.h"
#include "impart/placement/exchanges.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/imbalance.h"
#include "impart/placement/move_plan.h"

namespace impart::placement {
namespace {

using Kind = ScheduleEvent::Kind;

constexpr std::string_view kLaggingLoss = "loss-last";

}  // namespace

ScheduleSpec schedule_spec(const PlacementSpec& spec) {
  return {
      .epochs = spec.epochs,
      .warmup = spec.warmup,
      .interval = spec.interval,
      .ignore = spec.ignore,
      .exchange = spec.exchange.has_value(),
      .needs_importance = spec.heuristic.uses_importance && importance::needs_visits(spec.notion)};
}

std::vector<importance::NotionEntry> tracked_notions(const PlacementSpec& spec) {
  std::vector<importance::NotionEntry> notions = {spec.notion};
  const auto add = [&](const importance::NotionEntry& notion) {
    const auto same = [&](const importance::NotionEntry& known) {
      return known.name == notion.name;
    };
    if (std::none_of(notions.begin(), notions.end(), same)) notions.push_back(notion);
  };
  for (const importance::NotionEntry& notion : spec.record) add(notion);
  if (spec.exchange && spec.exchange->source == ImportanceSource::kTrainingLoss) {
    add(find_entry(importance::kNotions, "notion", kLaggingLoss));
  }
  return notions;
}

Placement::Placement(PlacementSpec spec, PlacementData data)
    : spec_(std::move(spec)),
      data_(std::move(data)),
      schedule_(make_schedule(schedule_spec(spec_))),
      table_({.examples = data_.examples,
              .notions = tracked_notions(spec_),
              .ignore = spec_.ignore,
              .window = spec_.window,
              .seed = spec_.seed,
              .truth = data_.truth,
              .history = spec_.history}),
      partition_({}, spec_.workers) {}

std::optional<PlacementChange> Placement::prepare_epoch(
    std::uint32_t epoch, const std::function<std::vector<float>()>& inference_losses) {
  arrivals_.clear();
  const auto event = std::find_if(schedule_.begin(), schedule_.end(),
                                  [&](const ScheduleEvent& e) { return e.epoch == epoch; });
  if (event == schedule_.end()) return std::nullopt;
  switch (event->kind) {
    case Kind::kRandom:
      return deal_randomly(epoch);
    case Kind::kHeuristic:
      return deal_by_heuristic(epoch);
    case Kind::kExchange:
      return exchange(epoch, inference_losses);
  }
  return std::nullopt;
}

PlacementChange Placement::deal_randomly(std::uint32_t epoch) {
  const std::vector<float> nothing(data_.examples);
  return replace(
      shuffle_evenly(nothing, {.workers = spec_.workers, .seed = spec_.seed, .epoch = epoch}),
      Kind::kRandom, {});
}

PlacementChange Placement::deal_by_heuristic(std::uint32_t epoch) {
  std::vector<float> importance = table_.close_window(spec_.notion.name);
  Partition next =
      spec_.heuristic.function(importance, {.workers = spec_.workers,
                                            .seed = spec_.seed,
                                            .epoch = epoch,
                                            .labels = data_.labels,
                                            .sticky_to = spec_.sticky ? &partition_ : nullptr});
  if (!spec_.heuristic.uses_importance) importance.clear();
  return replace(std::move(next), Kind::kHeuristic, std::move(importance));
}

PlacementChange Placement::exchange(std::uint32_t epoch,
                                    const std::function<std::vector<float>()>& inference_losses) {
  const ExchangeEntry& entry = *spec_.exchange;
  std::vector<float> importance(data_.examples);
  if (entry.source == ImportanceSource::kInferenceLoss) importance = inference_losses();
  if (entry.source == ImportanceSource::kTrainingLoss) importance = table_.importance(kLaggingLoss);
  if (entry.source == ImportanceSource::kNotion) {
    importance = table_.importance(spec_.notion.name);
  }
  const auto earlier = std::count_if(
      schedule_.begin(), schedule_.end(),
      [&](const ScheduleEvent& e) { return e.kind == Kind::kExchange && e.epoch < epoch; });
  Partition next = entry.function(partition_, importance,
                                  {.fraction = spec_.fraction,
                                   .seed = spec_.seed,
                                   .epoch = epoch,
                                   .earlier_exchanges = static_cast<std::uint64_t>(earlier)});
  if (entry.source == ImportanceSource::kNone) importance.clear();
  return replace(std::move(next), Kind::kExchange, std::move(importance));
}

PlacementChange Placement::replace(Partition next, Kind kind, std::vector<float> importance) {
  PlacementChange change{.kind = kind};
  if (has_partition_) {
    change.plan = diff(partition_, next);
    change.moved = change.plan.moves.size();
    change.messages = change.plan.messages();
    if (spec_.arrivals_last) {
      for (const Move& move : change.plan.moves) arrivals_.push_back(move.example);
    }
  }
  partition_ = std::move(next);
  has_partition_ = true;
  if (!importance.empty()) {
    const Imbalance imbalance = measure_imbalance(partition_, importance);
    change.imbalance_cv = imbalance.cv;
    change.imbalance_ks = imbalance.ks;
  }
  if (!data_.labels.empty()) change.class_skew = measure_class_skew(partition_, data_.labels);
  if (kind != Kind::kExchange) dealt_by_ = importance;
  change.importance = std::move(importance);
  return change;
}

Parts Placement::order(std::uint32_t epoch) const {
  Parts order = order_epoch(
      partition_,
      {.seed = spec_.seed, .epoch = epoch, .shuffle = spec_.shuffle, .importance = dealt_by_});
  if (arrivals_.empty()) return order;
  std::vector<bool> arrived(data_.examples);
  for (const ExampleId id : arrivals_) arrived[index(id)] = true;
  for (std::uint32_t worker = 0; worker < order.workers(); ++worker) {
    const auto visits = order.of(WorkerId{worker});
    std::stable_partition(visits.begin(), visits.end(),
                          [&](ExampleId id) { return !arrived[index(id)]; });
  }
  return order;
}

void Placement::restore(Partition partition, importance::ImportanceTable table,
                        std::vector<float> dealt_by, std::vector<ExampleId> arrivals) {
  partition_ = std::move(partition);
  table_ = std::move(table);
  dealt_by_ = std::move(dealt_by);
  arrivals_ = std::move(arrivals);
  has_partition_ = true;
}

}  // namespace impart::placement

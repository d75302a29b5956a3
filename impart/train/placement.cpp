#include "impart/train/placement.h"

#include <algorithm>
#include <utility>

#include "impart/partition/epoch_order.h"
#include "impart/partition/exchanges.h"
#include "impart/partition/heuristics.h"
#include "impart/partition/imbalance.h"
#include "impart/partition/move_plan.h"

namespace impart {
namespace {

using Kind = ScheduleEvent::Kind;

constexpr std::string_view kLaggingLoss = "loss-last";

bool has_exchange(const RunConfig& config) {
  return config.exchange.strategy != kNoExchange;
}

ImportanceSource source_of(const RunConfig& config, const OwnRows& own) {
  return find_entry(kExchanges, own.exchanges, "exchange", config.exchange.strategy).source;
}

}  // namespace

std::vector<NotionEntry> notions_of(const RunConfig& config, const OwnRows& own) {
  std::vector<std::string_view> names = {config.importance.notion};
  const auto add = [&](std::string_view name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const std::string& name : config.importance.record) add(name);
  if (has_exchange(config) && source_of(config, own) == ImportanceSource::kTrainingLoss)
    add(kLaggingLoss);
  std::vector<NotionEntry> notions;
  for (const std::string_view name : names) {
    notions.push_back(find_entry(kNotions, own.notions, "notion", name));
  }
  return notions;
}

Placement::Placement(const RunConfig& config, PlacementData data, OwnRows own)
    : config_(config),
      own_(std::move(own)),
      data_(std::move(data)),
      schedule_(make_schedule(schedule_spec(config, own_))),
      table_({.examples = data_.examples,
              .notions = notions_of(config, own_),
              .ignore = config.importance.ignore,
              .window = config.importance.window,
              .seed = config.seed,
              .truth = data_.truth,
              .history = config.importance.history}),
      partition_({}, config.workers.count) {}

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
      shuffle_evenly(nothing,
                     {.workers = config_.workers.count, .seed = config_.seed, .epoch = epoch}),
      Kind::kRandom, {});
}

PlacementChange Placement::deal_by_heuristic(std::uint32_t epoch) {
  const HeuristicEntry& heuristic =
      find_entry(kHeuristics, own_.heuristics, "heuristic", config_.partition.heuristic);
  std::vector<float> importance = table_.close_window(config_.importance.notion);
  Partition next = heuristic.function(
      importance, {.workers = config_.workers.count,
                   .seed = config_.seed,
                   .epoch = epoch,
                   .labels = data_.labels,
                   .sticky_to = config_.partition.sticky ? &partition_ : nullptr});
  if (!heuristic.uses_importance) importance.clear();
  return replace(std::move(next), Kind::kHeuristic, std::move(importance));
}

PlacementChange Placement::exchange(std::uint32_t epoch,
                                    const std::function<std::vector<float>()>& inference_losses) {
  const ExchangeEntry& entry =
      find_entry(kExchanges, own_.exchanges, "exchange", config_.exchange.strategy);
  std::vector<float> importance(data_.examples);
  if (entry.source == ImportanceSource::kInferenceLoss) importance = inference_losses();
  if (entry.source == ImportanceSource::kTrainingLoss) importance = table_.importance(kLaggingLoss);
  if (entry.source == ImportanceSource::kNotion) {
    importance = table_.importance(config_.importance.notion);
  }
  const auto earlier = std::count_if(
      schedule_.begin(), schedule_.end(),
      [&](const ScheduleEvent& e) { return e.kind == Kind::kExchange && e.epoch < epoch; });
  Partition next = entry.function(partition_, importance,
                                  {.fraction = config_.exchange.fraction,
                                   .seed = config_.seed,
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
    if (config_.exchange.arrivals_last) {
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
  Parts order = order_epoch(partition_, {.seed = config_.seed,
                                         .epoch = epoch,
                                         .shuffle = config_.workers.shuffle,
                                         .importance = dealt_by_});
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

void Placement::restore(Partition partition, ImportanceTable table, std::vector<float> dealt_by,
                        std::vector<ExampleId> arrivals) {
  partition_ = std::move(partition);
  table_ = std::move(table);
  dealt_by_ = std::move(dealt_by);
  arrivals_ = std::move(arrivals);
  has_partition_ = true;
}

}  // namespace impart

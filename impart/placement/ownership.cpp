#include "impart/placement/ownership.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/placement/measures/imbalance.h"
#include "impart/placement/selections/remaining.h"

namespace impart::placement {
namespace {

using Kind = ScheduleEvent::Kind;

std::uint64_t count_exchanges_before(std::uint32_t epoch, const ScheduleSpec& schedule) {
  std::uint64_t count = 0;
  for (std::uint32_t at = 0; at < epoch; ++at) {
    const auto event = event_at(schedule, at);
    if (event && event->kind == Kind::kExchange) ++count;
  }
  return count;
}

using AnyFloats = std::variant<std::vector<float>, std::vector<double>>;

AnyFloats importance_for(const AnyExchange& exchange, std::uint64_t examples,
                         const ImportanceSources& sources) {
  switch (exchange.source) {
    case ImportanceSource::kInferenceLoss:
      return sources.inference_loss();
    case ImportanceSource::kTrainingLoss:
      return sources.training_loss();
    case ImportanceSource::kNotion:
      return sources.notion();
    case ImportanceSource::kNone:
      break;
  }
  return std::vector<float>(examples);
}

std::vector<float> to_floats(std::vector<float>&& values) {
  return std::move(values);
}

std::vector<float> to_floats(const std::vector<double>& values) {
  std::vector<float> floats;
  floats.reserve(values.size());
  for (const double value : values) floats.push_back(static_cast<float>(value));
  return floats;
}

}  // namespace

Ownership::Ownership(PlacementSpec spec, PlacementData data)
    : spec_(std::move(spec)),
      data_(std::move(data)),
      schedule_(schedule_spec(spec_)),
      partition_({}, spec_.workers) {
  make_schedule(schedule_);  // finds contradictions
}

ImportanceSource Ownership::looks_at(std::uint32_t epoch) const {
  const auto event = event_at(schedule_, epoch);
  if (event && event->kind == Kind::kExchange) return spec_.exchange->source;
  const bool looks = event && event->kind == Kind::kHeuristic && spec_.heuristic.uses_importance;
  return looks ? ImportanceSource::kNotion : ImportanceSource::kNone;
}

std::optional<PlacementChange> Ownership::prepare_epoch(std::uint32_t epoch,
                                                        const ImportanceSources& sources) {
  const auto event = event_at(schedule_, epoch);
  if (!event) {
    arrivals_.clear();
    return std::nullopt;
  }
  switch (event->kind) {
    case Kind::kStart:
      return replace(first_partition(), Kind::kStart, {});
    case Kind::kRandom:
      return deal_randomly(epoch);
    case Kind::kHeuristic:
      return deal_by_heuristic(epoch, sources);
    case Kind::kExchange:
      return exchange(epoch, sources);
  }
  return std::nullopt;
}

Partition Ownership::first_partition() const {
  return spec_.start.function({.examples = data_.examples,
                               .workers = spec_.workers,
                               .seed = spec_.seed,
                               .labels = data_.labels,
                               .alpha = spec_.alpha,
                               .sizes = spec_.sizes,
                               .given = data_.start ? &*data_.start : nullptr});
}

PlacementChange Ownership::deal_randomly(std::uint32_t epoch) {
  const std::vector<float> nothing(data_.examples - gone_.size());
  Partition dealt =
      shuffle_evenly(nothing, {.workers = spec_.workers, .seed = spec_.seed, .epoch = epoch});
  return replace(with_gone(std::move(dealt)), Kind::kRandom, {});
}

/// The remaining examples as they were dealt, and what is gone where it was.
Partition Ownership::with_gone(Partition dealt) const {
  if (gone_.empty()) return dealt;
  return Remaining(data_.examples, gone_).put_back(dealt, partition_);
}

PlacementChange Ownership::deal_by_heuristic(std::uint32_t epoch,
                                             const ImportanceSources& sources) {
  std::vector<float> importance = sources.close_window();
  PartitionSpec asked{.workers = spec_.workers,
                      .seed = spec_.seed,
                      .epoch = epoch,
                      .labels = data_.labels,
                      .sticky_to = spec_.sticky ? &partition_ : nullptr,
                      .strength = spec_.strength};
  Partition next = gone_.empty() ? spec_.heuristic.function(importance, asked)
                                 : deal_remaining(importance, asked);
  if (!spec_.heuristic.uses_importance) importance.clear();
  return replace(std::move(next), Kind::kHeuristic, std::move(importance));
}

Partition Ownership::deal_remaining(std::span<const float> importance, PartitionSpec asked) const {
  const Remaining remaining(data_.examples, gone_);
  const std::vector<std::uint32_t> labels = remaining.of(asked.labels);
  const Partition owned = remaining.of(partition_);
  asked.labels = labels;
  if (asked.sticky_to != nullptr) asked.sticky_to = &owned;
  return with_gone(spec_.heuristic.function(remaining.of(importance), asked));
}

PlacementChange Ownership::exchange(std::uint32_t epoch, const ImportanceSources& sources) {
  const AnyExchange& exchange = *spec_.exchange;
  const ExchangeSpec asked{.fraction = spec_.fraction,
                           .seed = spec_.seed,
                           .epoch = epoch,
                           .earlier_exchanges = count_exchanges_before(epoch, schedule_)};
  const auto carry_out = [&](auto& importance) {
    Partition next = partition_;
    if (gone_.empty()) {
      next = exchange.function(partition_, importance, asked);
    } else {
      const Remaining remaining(data_.examples, gone_);
      const auto own = remaining.of(std::span(std::as_const(importance)));
      next = with_gone(exchange.function(remaining.of(partition_), own, asked));
    }
    if (exchange.source == ImportanceSource::kNone) importance.clear();
    return replace(std::move(next), Kind::kExchange, to_floats(std::move(importance)));
  };
  AnyFloats importance = importance_for(exchange, data_.examples, sources);
  return std::visit(carry_out, importance);
}

PlacementChange Ownership::replace(Partition next, Kind kind, std::vector<float> importance) {
  PlacementChange change{.kind = kind};
  if (has_partition_) {
    change.plan = diff(partition_, next);
    change.moved = change.plan.moves.size();
    change.messages = change.plan.messages();
  }
  arrivals_.clear();
  if (spec_.arrivals_last) {
    for (const Move& move : change.plan.moves) arrivals_.push_back(move.example);
  }
  partition_ = std::move(next);
  has_partition_ = true;
  if (kind != Kind::kExchange) dealt_by_ = importance;
  change.importance = std::move(importance);
  return change;
}

void Ownership::measure(PlacementChange& change) const {
  if (!change.importance.empty()) {
    const Imbalance imbalance = measure_imbalance(partition_, change.importance);
    change.imbalance_cv = imbalance.cv;
    change.imbalance_ks = imbalance.ks;
  }
  change.size_spread = measure_size_spread(partition_);
  if (data_.labels.empty()) return;
  const ClassSkew skew = measure_classes(partition_, data_.labels);
  change.class_skew = skew.largest;
  change.mean_class_skew = skew.mean;
}

Selected Ownership::select(std::uint32_t epoch, const SelectionSources& sources) const {
  const SelectionNeeds& needs = spec_.selection.needs;
  std::vector<float> scores;
  if (needs.source == ImportanceSource::kTrainingLoss) scores = sources.training_loss();
  if (needs.source == ImportanceSource::kNotion) scores = sources.notion();
  const auto correct = needs.correct ? sources.correct() : std::vector<std::uint8_t>();
  SelectionSpec asked = spec_.selecting;
  asked.seed = spec_.seed;
  asked.epoch = epoch;
  asked.epochs = spec_.epochs.value_or(0);
  const Parts parts = partition_.parts();
  return select_visits(
      spec_.selection,
      {.parts = parts, .examples = data_.examples, .scores = scores, .correct = correct}, asked,
      gone_);
}

void Ownership::end_epoch(const Selected& selected) {
  std::vector<ExampleId> gone;
  std::set_union(gone_.begin(), gone_.end(), selected.gone.begin(), selected.gone.end(),
                 std::back_inserter(gone));
  gone_ = std::move(gone);
}

Parts Ownership::order(std::uint32_t epoch, Parts visits) const {
  Parts order = order_visits(
      std::move(visits),
      {.seed = spec_.seed, .epoch = epoch, .shuffle = spec_.shuffle, .importance = dealt_by_});
  if (arrivals_.empty()) return order;
  std::vector<bool> arrived(data_.examples);
  for (const ExampleId id : arrivals_) arrived[index(id)] = true;
  for (std::uint32_t worker = 0; worker < order.workers(); ++worker) {
    const auto list = order.of(WorkerId{worker});
    std::stable_partition(list.begin(), list.end(),
                          [&](ExampleId id) { return !arrived[index(id)]; });
  }
  return order;
}

void Ownership::restore(Partition partition, std::vector<float> dealt_by,
                        std::vector<ExampleId> arrivals, std::vector<ExampleId> gone) {
  const auto exists = [&](ExampleId id) { return index(id) < data_.examples; };
  const bool fits = partition.examples() == data_.examples &&
                    (dealt_by.empty() || dealt_by.size() == data_.examples) &&
                    std::all_of(arrivals.begin(), arrivals.end(), exists) &&
                    std::all_of(gone.begin(), gone.end(), exists);
  if (!fits) {
    throw DataError(fmt::format("the saved partition is not of {} examples", data_.examples));
  }
  partition_ = std::move(partition);
  dealt_by_ = std::move(dealt_by);
  arrivals_ = std::move(arrivals);
  gone_ = std::move(gone);
  has_partition_ = true;
}

}  // namespace impart::placement

// Partitions, exchanges, orders and schedules: pure functions over arrays.

#include <string>

#include "impart/core/error.h"
#include "impart/placement/epoch_order.h"
#include "impart/placement/exchanges.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/imbalance.h"
#include "impart/placement/move_plan.h"
#include "impart/placement/schedule.h"
#include "impart/placement/step_plan.h"
#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"

namespace impart::python {
namespace {

using Owners = Array<std::uint32_t>;

placement::Partition partition_of(std::span<const std::uint32_t> owners, std::uint32_t workers) {
  std::vector<WorkerId> ids(owners.size());
  for (std::size_t i = 0; i < owners.size(); ++i) ids[i] = WorkerId{owners[i]};
  return {std::move(ids), workers};
}

std::vector<std::uint32_t> owners_of(const placement::Partition& partition) {
  return numbers_of<std::uint32_t>(partition.owners());
}

py::array partition(const py::array& importance, const std::string& heuristic,
                    std::uint32_t workers, std::uint64_t seed, std::uint32_t epoch,
                    const std::optional<Owners>& labels, const std::optional<Owners>& sticky_to,
                    std::uint32_t previous_workers) {
  const Scores scores = scores_of(importance);
  std::vector<std::uint32_t> owners;
  {
    const py::gil_scoped_release release;
    std::optional<placement::Partition> previous;
    if (sticky_to) previous = partition_of(span_of(*sticky_to), previous_workers);
    const placement::HeuristicEntry& entry =
        find_entry(placement::kHeuristics, "heuristic", heuristic);
    if (entry.uses_labels && !labels) throw ConfigError(heuristic + " needs labels");
    owners = owners_of(entry.function(scores, {.workers = workers,
                                               .seed = seed,
                                               .epoch = epoch,
                                               .labels = span_of(labels),
                                               .sticky_to = previous ? &*previous : nullptr}));
  }
  return to_array(std::move(owners));
}

py::array exchange(const Owners& current, std::uint32_t workers, const std::string& strategy,
                   const py::array& importance, double fraction, std::uint64_t seed,
                   std::uint32_t epoch, std::uint64_t earlier_exchanges) {
  const Scores scores = scores_of(importance);
  std::vector<std::uint32_t> owners;
  {
    const py::gil_scoped_release release;
    const placement::ExchangeEntry& entry = find_entry(placement::kExchanges, "exchange", strategy);
    owners = owners_of(entry.function(partition_of(span_of(current), workers), scores,
                                      {.fraction = fraction,
                                       .seed = seed,
                                       .epoch = epoch,
                                       .earlier_exchanges = earlier_exchanges}));
  }
  return to_array(std::move(owners));
}

/// Examples, from, to, messages.
py::tuple move_plan(const Owners& before, std::uint32_t workers_before, const Owners& after,
                    std::uint32_t workers_after) {
  std::vector<std::uint64_t> examples;
  std::vector<std::uint32_t> from, to;
  std::uint64_t messages = 0;
  {
    const py::gil_scoped_release release;
    const placement::MovePlan plan = placement::diff(partition_of(span_of(before), workers_before),
                                                     partition_of(span_of(after), workers_after));
    messages = plan.messages();
    for (const placement::Move& move : plan.moves) {
      examples.push_back(index(move.example));
      from.push_back(index(move.from));
      to.push_back(index(move.to));
    }
  }
  return py::make_tuple(to_array(std::move(examples)), to_array(std::move(from)),
                        to_array(std::move(to)), messages);
}

/// Sizes, sums, cv, ks.
py::tuple imbalance(const Owners& owners, std::uint32_t workers, const py::array& importance) {
  const Scores scores = scores_of(importance);
  placement::Imbalance measured;
  {
    const py::gil_scoped_release release;
    measured = placement::measure_imbalance(partition_of(span_of(owners), workers), scores);
  }
  return py::make_tuple(to_array(std::move(measured.sizes)), to_array(std::move(measured.sums)),
                        measured.cv, measured.ks);
}

double class_skew(const Owners& owners, std::uint32_t workers, const Owners& labels) {
  const py::gil_scoped_release release;
  return placement::measure_class_skew(partition_of(span_of(owners), workers), span_of(labels));
}

py::list parts(const Owners& owners, std::uint32_t workers) {
  std::vector<std::vector<std::uint64_t>> lists(workers);
  {
    const py::gil_scoped_release release;
    const placement::Parts all = partition_of(span_of(owners), workers).parts();
    for (std::uint32_t worker = 0; worker < workers; ++worker) {
      lists[worker] = numbers_of<std::uint64_t>(all.of(WorkerId{worker}));
    }
  }
  py::list result;
  for (auto& list : lists) result.append(to_array(std::move(list)));
  return result;
}

placement::Uneven uneven_named(const std::string& name) {
  if (name == "weight") return placement::Uneven::kWeight;
  if (name == "pad") return placement::Uneven::kPad;
  if (name == "drop") return placement::Uneven::kDrop;
  constexpr std::string_view kNames[] = {"weight", "pad", "drop"};
  throw_unknown_name("rule for uneven parts", name, kNames);
}

placement::ShuffleKind shuffle_named(const std::string& name) {
  if (name == "per-worker") return placement::ShuffleKind::kPerWorker;
  if (name == "shared") return placement::ShuffleKind::kShared;
  constexpr std::string_view kNames[] = {"per-worker", "shared"};
  throw_unknown_name("shuffle", name, kNames);
}

/// What the workers of one process visit in an epoch, step after step as the trainer's engine does:
/// ids, whether each is a first visit, how many there are in each step.
py::tuple epoch_visits(const Owners& owners, std::uint32_t workers,
                       const std::optional<py::array>& dealt_by, std::uint64_t seed,
                       std::uint32_t epoch, const std::string& shuffle, const std::string& uneven,
                       std::uint32_t batch, std::uint32_t rank, std::uint32_t processes) {
  const Scores scores = dealt_by ? scores_of(*dealt_by) : Scores();
  if (batch == 0) throw ConfigError("a batch of 0 examples; there must be at least 1");
  std::vector<std::int64_t> ids;
  std::vector<std::uint8_t> observed;
  std::vector<std::uint32_t> sizes;
  {
    const py::gil_scoped_release release;
    const placement::StepPlan plan(placement::order_epoch(partition_of(span_of(owners), workers),
                                                          {.seed = seed,
                                                           .epoch = epoch,
                                                           .shuffle = shuffle_named(shuffle),
                                                           .importance = scores}),
                                   batch, uneven_named(uneven));
    const placement::HostedWorkers hosted = placement::hosted_workers(workers, rank, processes);
    const placement::VisitList visits = placement::visits_of(plan, hosted, 0, plan.steps());
    ids = numbers_of<std::int64_t>(std::span<const ExampleId>(visits.ids));
    observed.assign(visits.observed.begin(), visits.observed.end());
    for (std::uint32_t step = 0; step < plan.steps(); ++step) {
      std::size_t rows = 0;
      for (std::uint32_t worker = 0; worker < hosted.count; ++worker) {
        rows += plan.batch_of(WorkerId{hosted.first + worker}, step).size();
      }
      sizes.push_back(static_cast<std::uint32_t>(rows));
    }
  }
  return py::make_tuple(to_array(std::move(ids)), to_array(std::move(observed)),
                        to_array(std::move(sizes)));
}

/// (epoch, kind) of every event.
std::vector<std::pair<std::uint32_t, std::string>> schedule(std::uint32_t epochs,
                                                            std::uint32_t warmup,
                                                            std::uint32_t interval,
                                                            std::uint32_t ignore, bool exchanges,
                                                            bool needs_importance) {
  std::vector<std::pair<std::uint32_t, std::string>> events;
  for (const placement::ScheduleEvent& event : placement::make_schedule({.epochs = epochs,
                                               .warmup = warmup,
                                               .interval = interval,
                                               .ignore = ignore,
                                               .exchange = exchanges,
                                               .needs_importance = needs_importance})) {
    using Kind = placement::ScheduleEvent::Kind;
    events.emplace_back(event.epoch, event.kind == Kind::kRandom      ? "random"
                                     : event.kind == Kind::kHeuristic ? "heuristic"
                                                                      : "exchange");
  }
  return events;
}

/// Name, summary, and whether it uses importance and labels.
py::list describe_heuristics() {
  py::list rows;
  for (const placement::HeuristicEntry& row : placement::kHeuristics) {
    rows.append(py::make_tuple(std::string(row.name), std::string(row.summary), row.uses_importance,
                               row.uses_labels));
  }
  return rows;
}

/// Name, summary, and where the importance comes from.
py::list describe_exchanges() {
  const auto source = [](placement::ImportanceSource from) {
    switch (from) {
      case placement::ImportanceSource::kNone:
        return "none";
      case placement::ImportanceSource::kInferenceLoss:
        return "inference-loss";
      case placement::ImportanceSource::kTrainingLoss:
        return "training-loss";
      case placement::ImportanceSource::kNotion:
        return "notion";
    }
    return "none";
  };
  py::list rows;
  for (const placement::ExchangeEntry& row : placement::kExchanges) {
    rows.append(
        py::make_tuple(std::string(row.name), std::string(row.summary), source(row.source)));
  }
  return rows;
}

}  // namespace

void bind_partitions(py::module_& module) {
  using namespace py::literals;
  module.def("partition", partition, "importance"_a, "heuristic"_a, "workers"_a, "seed"_a,
             "epoch"_a, "labels"_a.noconvert(), "sticky_to"_a.noconvert(), "previous_workers"_a);
  module.def("exchange", exchange, "owners"_a.noconvert(), "workers"_a, "strategy"_a,
             "importance"_a, "fraction"_a, "seed"_a, "epoch"_a, "earlier_exchanges"_a);
  module.def("move_plan", move_plan, "before"_a.noconvert(), "workers_before"_a,
             "after"_a.noconvert(), "workers_after"_a);
  module.def("imbalance", imbalance, "owners"_a.noconvert(), "workers"_a, "importance"_a);
  module.def("class_skew", class_skew, "owners"_a.noconvert(), "workers"_a, "labels"_a.noconvert());
  module.def("parts", parts, "owners"_a.noconvert(), "workers"_a);
  module.def("epoch_visits", epoch_visits, "owners"_a.noconvert(), "workers"_a, "dealt_by"_a,
             "seed"_a, "epoch"_a, "shuffle"_a, "uneven"_a, "batch"_a, "rank"_a, "processes"_a);
  module.def("schedule", schedule, "epochs"_a, "warmup"_a, "interval"_a, "ignore"_a, "exchanges"_a,
             "needs_importance"_a);
  module.def("heuristics", describe_heuristics);
  module.def("exchanges", describe_exchanges);
}

}  // namespace impart::python

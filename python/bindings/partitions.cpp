// Partitions and exchanges: pure functions over arrays.

#include "python/bindings/partitions.h"

#include <string>

#include "impart/core/error.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/measures/imbalance.h"
#include "impart/placement/move_plan.h"
#include "impart/placement/outers.h"
#include "python/bindings/bindings.h"

namespace impart::python {
namespace {

py::array partition(const py::array& importance, const std::string& heuristic,
                    std::uint32_t workers, std::uint64_t seed, std::uint32_t epoch,
                    const std::optional<Owners>& labels, const std::optional<Owners>& sticky_to,
                    std::uint32_t previous_workers, double strength) {
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
                                               .sticky_to = previous ? &*previous : nullptr,
                                               .strength = strength}));
  }
  return to_array(std::move(owners));
}

py::array start(const std::string& name, std::uint64_t examples, std::uint32_t workers,
                std::uint64_t seed, const std::optional<Owners>& labels, double alpha,
                const std::string& sizes, const std::optional<std::string>& file) {
  std::vector<std::uint32_t> owners;
  {
    const py::gil_scoped_release release;
    const placement::StartEntry& entry = find_entry(placement::kStarts, "start", name);
    if (entry.needs_file != file.has_value()) {
      throw ConfigError(entry.needs_file ? "start " + name + " needs a file"
                                         : "only the start file takes a file");
    }
    std::optional<placement::Partition> given;
    if (file) given = placement::read_start(*file, examples, workers);
    owners = owners_of(entry.function({.examples = examples,
                                       .workers = workers,
                                       .seed = seed,
                                       .labels = span_of(labels),
                                       .alpha = alpha,
                                       .sizes = sizes_named(sizes),
                                       .given = given ? &*given : nullptr}));
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

/// Class skew: largest, mean, mean by chance; size spread.
py::tuple heterogeneity(const Owners& owners, std::uint32_t workers, const Owners& labels) {
  placement::ClassSkew skew;
  double spread = 1;
  {
    const py::gil_scoped_release release;
    const placement::Partition partition = partition_of(span_of(owners), workers);
    skew = placement::measure_classes(partition, span_of(labels));
    spread = placement::measure_size_spread(partition);
  }
  return py::make_tuple(skew.largest, skew.mean, skew.mean_by_chance, spread);
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

/// Name, summary, and whether it uses importance and labels.
py::list describe_heuristics() {
  py::list rows;
  for (const placement::HeuristicEntry& row : placement::kHeuristics) {
    rows.append(py::make_tuple(std::string(row.name), std::string(row.summary), row.uses_importance,
                               row.uses_labels));
  }
  return rows;
}

/// Name, summary, and whether it uses labels and needs a file.
py::list describe_starts() {
  py::list rows;
  for (const placement::StartEntry& row : placement::kStarts) {
    rows.append(py::make_tuple(std::string(row.name), std::string(row.summary), row.uses_labels,
                               row.needs_file));
  }
  return rows;
}

/// Name, summary, and where the importance comes from.
py::list describe_exchanges() {
  py::list rows;
  for (const placement::ExchangeEntry& row : placement::kExchanges) {
    rows.append(
        py::make_tuple(std::string(row.name), std::string(row.summary), name_of(row.source)));
  }
  return rows;
}

/// Name, summary, and the rates as published.
py::list describe_outers() {
  py::list rows;
  for (const placement::OuterEntry& row : placement::kOuters) {
    rows.append(
        py::make_tuple(std::string(row.name), std::string(row.summary), row.lr, row.momentum));
  }
  return rows;
}

/// keep, gain, back and push of impart/placement/outers.h.
py::tuple outer_factors(const std::string& name, double lr, double momentum, double inner_lr) {
  const placement::OuterFactors factors =
      find_entry(placement::kOuters, "outer", name)
          .function({.lr = lr, .momentum = momentum, .inner_lr = inner_lr});
  return py::make_tuple(factors.keep, factors.gain, factors.back, factors.push);
}

}  // namespace

void bind_partitions(py::module_& module) {
  using namespace py::literals;
  module.def("partition", partition, "importance"_a, "heuristic"_a, "workers"_a, "seed"_a,
             "epoch"_a, "labels"_a.noconvert(), "sticky_to"_a.noconvert(), "previous_workers"_a,
             "strength"_a = 0.5);
  module.def("start", start, "name"_a, "examples"_a, "workers"_a, "seed"_a, "labels"_a.noconvert(),
             "alpha"_a, "sizes"_a, "file"_a);
  module.def("exchange", exchange, "owners"_a.noconvert(), "workers"_a, "strategy"_a,
             "importance"_a, "fraction"_a, "seed"_a, "epoch"_a, "earlier_exchanges"_a);
  module.def("move_plan", move_plan, "before"_a.noconvert(), "workers_before"_a,
             "after"_a.noconvert(), "workers_after"_a);
  module.def("imbalance", imbalance, "owners"_a.noconvert(), "workers"_a, "importance"_a);
  module.def("class_skew", class_skew, "owners"_a.noconvert(), "workers"_a, "labels"_a.noconvert());
  module.def("heterogeneity", heterogeneity, "owners"_a.noconvert(), "workers"_a,
             "labels"_a.noconvert());
  module.def("parts", parts, "owners"_a.noconvert(), "workers"_a);
  module.def("starts", describe_starts);
  module.def("heuristics", describe_heuristics);
  module.def("exchanges", describe_exchanges);
  module.def("outers", describe_outers);
  module.def("outer_factors", outer_factors, "name"_a, "lr"_a, "momentum"_a, "inner_lr"_a);
}

}  // namespace impart::python

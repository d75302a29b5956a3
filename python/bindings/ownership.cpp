// Who owns what over the epochs of a run: the decisions of `impart train`, asked for by Python.

#include "impart/placement/ownership.h"

#include <mutex>
#include <string>
#include <variant>

#include "impart/core/error.h"
#include "impart/placement/selections/published.h"
#include "impart/placement/step_plan.h"
#include "python/bindings/bindings.h"
#include "python/bindings/partitions.h"

namespace impart::python {
namespace {

using placement::PlacementSpec;

template <class T>
std::vector<T> to_vector(const Array<T>& array) {
  return {array.data(), array.data() + array.size()};
}

/// Ownership that several Python threads may use. While it works the interpreter is let go; what
/// Python has to answer takes it again, and its exceptions come through as they are.
///
/// Answers come from an object that each call brings along: were it kept here, Python's garbage
/// collector could not see it.
class SharedOwnership {
 public:
  SharedOwnership(PlacementSpec spec, placement::PlacementData data)
      : ownership_(with_python_functions(std::move(spec)), std::move(data)) {}

  /// Calls `use(ownership)` without the interpreter's lock, one thread at a time.
  template <class Use>
  auto with(Use use) {
    const py::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    return use(ownership_);
  }

  std::optional<placement::PlacementChange> prepare_epoch(std::uint32_t epoch,
                                                          const py::object& answers) {
    const auto ask = [&answers](const char* question) { return asking<float>(answers, question); };
    const auto ask_losses = [&answers]() -> std::variant<std::vector<float>, std::vector<double>> {
      const py::gil_scoped_acquire acquire;
      const py::object losses = answers.attr("inference_loss")();
      if (py::isinstance<Array<float>>(losses)) return to_vector(py::cast<Array<float>>(losses));
      return to_vector(py::cast<Array<double>>(losses));
    };
    return with([&](placement::Ownership& ownership) {
      answers_ = &answers;
      return ownership.prepare_epoch(epoch, {.close_window = ask("close_window"),
                                             .notion = ask("notion"),
                                             .training_loss = ask("training_loss"),
                                             .inference_loss = ask_losses});
    });
  }

  /// Chooses the visits of an epoch, after it was prepared.
  void select(std::uint32_t epoch, const py::object& answers) {
    with([&](placement::Ownership& ownership) {
      answers_ = &answers;
      if (selected_) ownership.end_epoch(*selected_);
      selected_.reset();
      selected_ =
          ownership.select(epoch, {.notion = asking<float>(answers, "known_notion"),
                                   .training_loss = asking<float>(answers, "known_training_loss"),
                                   .correct = asking<std::uint8_t>(answers, "last_correct")});
    });
  }
  /// What was chosen; none before the first epoch. For use inside `with`.
  const std::optional<placement::Selected>& selected() const { return selected_; }
  void set_selected(placement::Selected selected) { selected_ = std::move(selected); }

 private:
  template <class T>
  static std::function<std::vector<T>()> asking(const py::object& answers, const char* question) {
    return [&answers, question] {
      const py::gil_scoped_acquire acquire;
      return to_vector(py::cast<Array<T>>(answers.attr(question)()));
    };
  }

  /// What a function of Python chooses for one worker: ids, and their weights or None.
  std::vector<ExampleId> choose(std::span<const ExampleId> part,
                                const placement::SelectionInput& input, std::uint32_t worker,
                                std::uint32_t epoch, std::vector<float>& weights) const {
    const py::gil_scoped_acquire acquire;
    std::vector<float> scores;
    for (const ExampleId id : part) scores.push_back(input.scores[index(id)]);
    const py::tuple chosen = answers_->attr("choose")(to_array(numbers_of<std::int64_t>(part)),
                                                      to_array(std::move(scores)), worker, epoch);
    const auto ids = py::cast<Array<std::uint64_t>>(chosen[0]);
    if (!chosen[1].is_none()) {
      const auto given = py::cast<Array<float>>(chosen[1]);
      weights.resize(input.examples, 1.0f);
      for (py::ssize_t i = 0; i < given.size(); ++i) {
        const std::uint64_t id = ids.data()[i];
        if (id < input.examples) weights[id] = given.data()[i];
      }
    }
    const auto visits = ids_of(ids);
    return {visits.begin(), visits.end()};
  }

  /// What a spec lacks is asked of Python: its heuristic deals, its selection chooses.
  PlacementSpec with_python_functions(PlacementSpec spec) {
    if (!spec.selection.function) {
      spec.selection.needs.source = placement::ImportanceSource::kNotion;
      spec.selection.function = [this](const placement::SelectionInput& input,
                                       const placement::SelectionSpec& asked) {
        std::vector<float> weights;
        std::vector<std::vector<ExampleId>> lists;
        for (std::uint32_t worker = 0; worker < input.parts.workers(); ++worker) {
          lists.push_back(
              choose(input.parts.of(WorkerId{worker}), input, worker, asked.epoch, weights));
        }
        return placement::Selected{.visits = placement::parts_of(lists),
                                   .weights = std::move(weights)};
      };
    }
    if (spec.heuristic.function) return spec;
    spec.heuristic.function = [this](const Scores& importance,
                                     const placement::PartitionSpec& asked) {
      const py::gil_scoped_acquire acquire;
      const py::array scores = importance.visit([](auto values) -> py::array {
        using Value = typename decltype(values)::value_type;
        return py::array_t<Value>(static_cast<py::ssize_t>(values.size()), values.data());
      });
      const auto owners = py::cast<Owners>(answers_->attr("deal")(scores, asked.epoch));
      return partition_of(span_of(owners), asked.workers);
    };
    return spec;
  }

  std::recursive_mutex mutex_;  ///< a function of Python may look at what it is asked for
  const py::object* answers_ = nullptr;
  std::optional<placement::Selected> selected_;
  placement::Ownership ownership_;
};

std::unique_ptr<SharedOwnership> make_ownership(const PlacementSpec& spec, std::uint64_t examples,
                                                const std::optional<Owners>& labels,
                                                const std::optional<Owners>& start) {
  const auto classes = span_of(labels);
  placement::PlacementData data{.examples = examples, .labels = {classes.begin(), classes.end()}};
  if (start) data.start = partition_of(span_of(*start), spec.workers);
  return std::make_unique<SharedOwnership>(spec, std::move(data));
}

/// What happened, and the importance that decided, if any did; None if nothing happened.
py::object prepare_epoch(SharedOwnership& shared, std::uint32_t epoch, const py::object& answers) {
  auto change = shared.prepare_epoch(epoch, answers);
  if (!change) return py::none();
  using Kind = placement::ScheduleEvent::Kind;
  const char* const kind = change->kind == Kind::kRandom      ? "random"
                           : change->kind == Kind::kStart     ? "start"
                           : change->kind == Kind::kHeuristic ? "heuristic"
                                                              : "exchange";
  if (change->importance.empty()) return py::make_tuple(kind, py::none());
  return py::make_tuple(kind, to_array(std::move(change->importance)));
}

/// For each of the epochs first..last-1.
std::vector<std::string> looks_at(SharedOwnership& shared, std::uint32_t first,
                                  std::uint32_t last) {
  return shared.with([&](const placement::Ownership& ownership) {
    std::vector<std::string> sources;
    for (std::uint32_t epoch = first; epoch < last; ++epoch) {
      sources.emplace_back(name_of(ownership.looks_at(epoch)));
    }
    return sources;
  });
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
py::tuple visits(SharedOwnership& shared, std::uint32_t epoch, const std::string& uneven,
                 std::uint32_t batch, std::uint32_t rank, std::uint32_t processes) {
  if (batch == 0) throw ConfigError("a batch of 0 examples; there must be at least 1");
  std::vector<std::int64_t> ids;
  std::vector<std::uint8_t> observed;
  std::vector<std::uint32_t> sizes;
  shared.with([&](const placement::Ownership& ownership) {
    const auto& selected = shared.selected();
    const bool selects =
        selected && ownership.spec().selection.name != placement::kSelections[0].name;
    const placement::StepPlan plan(
        selected ? ownership.order(epoch, selected->visits) : ownership.order(epoch), batch,
        uneven_named(uneven), selects ? placement::LastStep::kShared : placement::LastStep::kShort);
    const placement::HostedWorkers hosted =
        placement::hosted_workers(ownership.spec().workers, rank, processes);
    const placement::VisitList list = placement::visits_of(plan, hosted, 0, plan.steps());
    ids = numbers_of<std::int64_t>(std::span<const ExampleId>(list.ids));
    observed.assign(list.observed.begin(), list.observed.end());
    for (std::uint32_t step = 0; step < plan.steps(); ++step) {
      std::size_t rows = 0;
      for (std::uint32_t worker = 0; worker < hosted.count; ++worker) {
        rows += plan.batch_of(WorkerId{hosted.first + worker}, step).size();
      }
      sizes.push_back(static_cast<std::uint32_t>(rows));
    }
  });
  return py::make_tuple(to_array(std::move(ids)), to_array(std::move(observed)),
                        to_array(std::move(sizes)));
}

/// Owners, the importance that they were dealt by, and the examples that have just moved, if these
/// are visited last: all that `restore` needs.
py::tuple state_of(SharedOwnership& shared) {
  std::vector<std::uint32_t> owners;
  std::vector<float> dealt_by;
  std::vector<std::uint64_t> arrivals;
  shared.with([&](const placement::Ownership& ownership) {
    owners = owners_of(ownership.partition());
    dealt_by = ownership.dealt_by();
    arrivals = numbers_of<std::uint64_t>(std::span(ownership.arrivals()));
  });
  return py::make_tuple(to_array(std::move(owners)), to_array(std::move(dealt_by)),
                        to_array(std::move(arrivals)));
}

/// What was selected for the epoch under way: visits, how many each worker has, weights of all
/// examples (empty: all are 1), and what is gone, with the epoch's end and before.
py::tuple selection_of(SharedOwnership& shared) {
  std::vector<std::uint64_t> visits, sizes, going, gone;
  std::vector<float> weights;
  shared.with([&](const placement::Ownership& ownership) {
    gone = numbers_of<std::uint64_t>(std::span(ownership.gone()));
    const auto& selected = shared.selected();
    if (!selected) return;
    weights = selected->weights;
    going = numbers_of<std::uint64_t>(std::span(selected->gone));
    for (std::uint32_t worker = 0; worker < selected->visits.workers(); ++worker) {
      const auto list = selected->visits.of(WorkerId{worker});
      for (const ExampleId id : list) visits.push_back(index(id));
      sizes.push_back(list.size());
    }
  });
  return py::make_tuple(to_array(std::move(visits)), to_array(std::move(sizes)),
                        to_array(std::move(weights)), to_array(std::move(going)),
                        to_array(std::move(gone)));
}

/// The reverse, after `restore`.
void restore_selection(SharedOwnership& shared, const Array<std::uint64_t>& visit_array,
                       const Array<std::uint64_t>& sizes, const Array<float>& weight_array,
                       const Array<std::uint64_t>& going_array) {
  const auto visits = ids_of(visit_array);
  const auto going = ids_of(going_array);
  const auto weights = span_of(weight_array);
  placement::Parts lists(span_of(sizes));
  std::size_t next = 0;
  for (std::uint32_t worker = 0; worker < lists.workers(); ++worker) {
    for (ExampleId& id : lists.of(WorkerId{worker})) {
      if (next == visits.size()) throw DataError("the saved selection has too few visits");
      id = visits[next++];
    }
  }
  shared.set_selected({.visits = std::move(lists),
                       .weights = {weights.begin(), weights.end()},
                       .gone = {going.begin(), going.end()}});
}

void restore(SharedOwnership& shared, const Owners& owner_array, const Array<float>& dealt_by_array,
             const Array<std::uint64_t>& arrival_array, const Array<std::uint64_t>& gone_array) {
  const auto owners = span_of(owner_array);
  const auto dealt_by = span_of(dealt_by_array);
  const auto arrivals = ids_of(arrival_array);
  const auto gone = ids_of(gone_array);
  shared.with([&](placement::Ownership& ownership) {
    ownership.restore(partition_of(owners, ownership.spec().workers),
                      {dealt_by.begin(), dealt_by.end()}, {arrivals.begin(), arrivals.end()},
                      {gone.begin(), gone.end()});
  });
}

/// By name; None: the answers of `prepare_epoch` deal.
void set_heuristic(PlacementSpec& spec, const std::optional<std::string>& name) {
  spec.heuristic = {};
  if (name) spec.heuristic = find_entry(placement::kHeuristics, "heuristic", *name);
}

void set_start(PlacementSpec& spec, const std::string& name) {
  spec.start = find_entry(placement::kStarts, "start", name);
}

void set_exchange(PlacementSpec& spec, const std::optional<std::string>& name) {
  spec.exchange.reset();
  if (name) spec.exchange = find_entry(placement::kExchanges, "exchange", *name);
}

/// A dictionary of the keys of `selection:` in a configuration, with numbers of epochs. Without a
/// strategy the answers of `select` choose. Needs the epochs of the spec.
void set_selection(PlacementSpec& spec, const py::dict& asked) {
  spec.selection = {};
  if (asked.contains("strategy")) {
    spec.selection =
        find_entry(placement::kSelections, "selection", py::cast<std::string>(asked["strategy"]));
  }
  placement::SelectionSpec& numbers = spec.selecting;
  const auto take = [&](const char* name, auto& number) {
    if (asked.contains(name)) number = py::cast<std::decay_t<decltype(number)>>(asked[name]);
  };
  const auto is_named = [&](const char* name, const char* value) {
    return asked.contains(name) && py::cast<std::string>(asked[name]) == value;
  };
  numbers = {.share = spec.selection.published.share,
             .final_epochs = placement::published_final_epochs(spec.selection.published,
                                                               spec.epochs.value_or(0))};
  take("share", numbers.share);
  take("final", numbers.final_epochs);
  take("multiple", numbers.multiple);
  take("confidence", numbers.confidence);
  take("budget", numbers.budget);
  take("mix", numbers.mix);
  take("threshold", numbers.threshold);
  take("after", numbers.after);
  take("start", numbers.start);
  take("ramp", numbers.ramp);
  take("epsilon", numbers.epsilon);
  if (is_named("scope", "all")) numbers.scope = placement::SelectionScope::kAll;
  if (is_named("prune", "hardest")) numbers.prune = placement::PruneSide::kHardest;
  if (is_named("growth", "root")) numbers.growth = placement::CurriculumGrowth::kRoot;
  placement::check_selection(numbers);
}

/// Name, summary, where scores come from, whether it looks at what was right, and whether what it
/// hides is refreshed.
py::list describe_selections() {
  py::list rows;
  for (const placement::SelectionEntry& row : placement::kSelections) {
    rows.append(py::make_tuple(std::string(row.name), std::string(row.summary),
                               name_of(row.needs.source), row.needs.correct, row.needs.refresh));
  }
  return rows;
}

/// A notion that is not in the table is a function of Python, and looks at visits.
void set_notion(PlacementSpec& spec, const std::string& name) {
  spec.notion = {};
  for (const importance::NotionEntry& row : importance::kNotions) {
    if (row.name == name) spec.notion = row;
  }
}

}  // namespace

void bind_ownership(py::module_& module) {
  using namespace py::literals;
  py::class_<PlacementSpec>(module, "PlacementSpec")
      .def(py::init<>())
      .def_readwrite("seed", &PlacementSpec::seed)
      .def_readwrite("workers", &PlacementSpec::workers)
      .def_readwrite("epochs", &PlacementSpec::epochs)
      .def_readwrite("alpha", &PlacementSpec::alpha)
      .def_readwrite("warmup", &PlacementSpec::warmup)
      .def_readwrite("warmup_shuffle", &PlacementSpec::warmup_shuffle)
      .def_readwrite("interval", &PlacementSpec::interval)
      .def_readwrite("ignore", &PlacementSpec::ignore)
      .def_readwrite("strength", &PlacementSpec::strength)
      .def_readwrite("sticky", &PlacementSpec::sticky)
      .def_readwrite("fraction", &PlacementSpec::fraction)
      .def_readwrite("arrivals_last", &PlacementSpec::arrivals_last)
      .def_property("start", nullptr, set_start)
      .def_property(
          "sizes", nullptr,
          [](PlacementSpec& spec, const std::string& name) { spec.sizes = sizes_named(name); })
      .def_property("heuristic", nullptr, set_heuristic)
      .def_property("exchange", nullptr, set_exchange)
      .def_property("notion", nullptr, set_notion)
      .def_property("selection", nullptr, set_selection)
      .def_property("shuffle", nullptr, [](PlacementSpec& spec, const std::string& name) {
        spec.shuffle = shuffle_named(name);
      });
  py::class_<SharedOwnership>(module, "Ownership")
      .def(py::init(&make_ownership), "spec"_a, "examples"_a, "labels"_a.noconvert(),
           "start"_a.noconvert() = py::none())
      .def("looks_at", looks_at, "first"_a, "last"_a)
      .def("prepare_epoch", prepare_epoch, "epoch"_a, "answers"_a)
      .def("select", &SharedOwnership::select, "epoch"_a, "answers"_a)
      .def("visits", visits, "epoch"_a, "uneven"_a, "batch"_a, "rank"_a, "processes"_a)
      .def("state", state_of)
      .def("selection", selection_of)
      .def("restore", restore, "owners"_a.noconvert(), "dealt_by"_a.noconvert(),
           "arrivals"_a.noconvert(), "gone"_a.noconvert())
      .def("restore_selection", restore_selection, "visits"_a.noconvert(), "sizes"_a.noconvert(),
           "weights"_a.noconvert(), "going"_a.noconvert());
  module.def("selections", describe_selections);
}

}  // namespace impart::python

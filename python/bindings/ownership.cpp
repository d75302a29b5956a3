// Who owns what over the epochs of a run: the decisions of `impart train`, asked for by Python.

#include "impart/placement/ownership.h"

#include <mutex>
#include <string>
#include <variant>

#include "impart/core/error.h"
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
      : ownership_(with_python_heuristic(std::move(spec)), std::move(data)) {}

  /// Calls `use(ownership)` without the interpreter's lock, one thread at a time.
  template <class Use>
  auto with(Use use) {
    const py::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    return use(ownership_);
  }

  std::optional<placement::PlacementChange> prepare_epoch(std::uint32_t epoch,
                                                          const py::object& answers) {
    const auto ask = [&answers](const char* question) {
      return [&answers, question] {
        const py::gil_scoped_acquire acquire;
        return to_vector(py::cast<Array<float>>(answers.attr(question)()));
      };
    };
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

 private:
  /// A spec without a heuristic: one of Python deals.
  PlacementSpec with_python_heuristic(PlacementSpec spec) {
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
  placement::Ownership ownership_;
};

std::unique_ptr<SharedOwnership> make_ownership(const PlacementSpec& spec, std::uint64_t examples,
                                                const std::optional<Owners>& labels) {
  const auto classes = span_of(labels);
  return std::make_unique<SharedOwnership>(
      spec,
      placement::PlacementData{.examples = examples, .labels = {classes.begin(), classes.end()}});
}

/// What happened, and the importance that decided, if any did; None if nothing happened.
py::object prepare_epoch(SharedOwnership& shared, std::uint32_t epoch, const py::object& answers) {
  auto change = shared.prepare_epoch(epoch, answers);
  if (!change) return py::none();
  using Kind = placement::ScheduleEvent::Kind;
  const char* const kind = change->kind == Kind::kRandom      ? "random"
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
    const placement::StepPlan plan(ownership.order(epoch), batch, uneven_named(uneven));
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

void restore(SharedOwnership& shared, const Owners& owner_array, const Array<float>& dealt_by_array,
             const Array<std::uint64_t>& arrival_array) {
  const auto owners = span_of(owner_array);
  const auto dealt_by = span_of(dealt_by_array);
  const auto arrivals = ids_of(arrival_array);
  shared.with([&](placement::Ownership& ownership) {
    ownership.restore(partition_of(owners, ownership.spec().workers),
                      {dealt_by.begin(), dealt_by.end()}, {arrivals.begin(), arrivals.end()});
  });
}

/// By name; None: the answers of `prepare_epoch` deal.
void set_heuristic(PlacementSpec& spec, const std::optional<std::string>& name) {
  spec.heuristic = {};
  if (name) spec.heuristic = find_entry(placement::kHeuristics, "heuristic", *name);
}

void set_exchange(PlacementSpec& spec, const std::optional<std::string>& name) {
  spec.exchange.reset();
  if (name) spec.exchange = find_entry(placement::kExchanges, "exchange", *name);
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
      .def_readwrite("warmup", &PlacementSpec::warmup)
      .def_readwrite("interval", &PlacementSpec::interval)
      .def_readwrite("ignore", &PlacementSpec::ignore)
      .def_readwrite("sticky", &PlacementSpec::sticky)
      .def_readwrite("fraction", &PlacementSpec::fraction)
      .def_readwrite("arrivals_last", &PlacementSpec::arrivals_last)
      .def_property("heuristic", nullptr, set_heuristic)
      .def_property("exchange", nullptr, set_exchange)
      .def_property("notion", nullptr, set_notion)
      .def_property("shuffle", nullptr, [](PlacementSpec& spec, const std::string& name) {
        spec.shuffle = shuffle_named(name);
      });
  py::class_<SharedOwnership>(module, "Ownership")
      .def(py::init(&make_ownership), "spec"_a, "examples"_a, "labels"_a.noconvert())
      .def("looks_at", looks_at, "first"_a, "last"_a)
      .def("prepare_epoch", prepare_epoch, "epoch"_a, "answers"_a)
      .def("visits", visits, "epoch"_a, "uneven"_a, "batch"_a, "rank"_a, "processes"_a)
      .def("state", state_of)
      .def("restore", restore, "owners"_a.noconvert(), "dealt_by"_a.noconvert(),
           "arrivals"_a.noconvert());
}

}  // namespace impart::python

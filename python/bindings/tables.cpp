// Importance tables and notions.

#include <cmath>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "impart/core/error.h"
#include "impart/importance/importance_table.h"
#include "impart/importance/known_importance.h"
#include "impart/importance/logit_signals.h"
#include "impart/importance/table_file.h"
#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"

namespace impart::python {
namespace {

constexpr std::size_t kObserveBatch = 4096;

/// A table that several Python threads may use: the interpreter is let go while it works.
class SharedTable {
 public:
  explicit SharedTable(importance::ImportanceTable table) : table_(std::move(table)) {}

  /// Calls `use(table)` without the interpreter's lock, one thread at a time.
  template <class Use>
  auto with(Use use) {
    const py::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    return use(table_);
  }

 private:
  std::mutex mutex_;
  importance::ImportanceTable table_;
};

using TablePointer = std::unique_ptr<SharedTable>;

importance::StateSet needs_of(const std::vector<std::string>& notions) {
  importance::StateSet needs = importance::StateSet::kNothing;
  for (const std::string& name : notions) {
    needs = needs | find_entry(importance::kNotions, "notion", name).needs;
  }
  return needs;
}

std::vector<importance::AnyNotion> rows_of(const std::vector<std::string>& names) {
  return importance::notions_named({names.begin(), names.end()});
}

TablePointer make_table(std::uint64_t examples, const std::vector<std::string>& notions,
                        const std::vector<std::string>& keeps, std::uint32_t ignore,
                        bool run_window, float ema_weight, std::uint64_t seed,
                        const std::optional<Array<float>>& truth, bool history) {
  const auto difficulty = span_of(truth);
  return std::make_unique<SharedTable>(importance::ImportanceTable(
      {.examples = examples,
       .notions = rows_of(notions),
       .keeps = needs_of(keeps),
       .ignore = ignore,
       .window = run_window ? importance::WindowKind::kRun : importance::WindowKind::kInterval,
       .ema_weight = ema_weight,
       .seed = seed,
       .truth = {difficulty.begin(), difficulty.end()},
       .history = history}));
}

/// Visits in the order given; values are [signals, ids].
void observe(SharedTable& shared, std::uint32_t epoch, const Array<std::uint64_t>& id_array,
             const Array<float>& value_array) {
  const auto ids = ids_of(id_array);
  const auto values = span_of(value_array);
  shared.with([&](importance::ImportanceTable& table) {
    importance::Signals all;
    std::size_t position = 0;
    for (const importance::Signal signal : importance::signals_for(table.needs())) {
      if (values.size() < (position + 1) * ids.size()) {
        throw DataError("there are fewer signals than the table's notions need");
      }
      all.*importance::row_of(signal).values = values.subspan(position++ * ids.size(), ids.size());
    }
    for (std::size_t start = 0; start < ids.size(); start += kObserveBatch) {
      const std::size_t count = std::min(kObserveBatch, ids.size() - start);
      table.observe(epoch, ids.subspan(start, count), importance::subrange(all, start, count));
    }
  });
}

/// A statistic of an example: its name, its value, and the state that it is made from.
struct StatisticRow {
  std::string name;
  std::function<double(const importance::ExampleStatistics& example)> value;
  importance::StateSet needed;
};

std::vector<StatisticRow> make_statistics() {
  using Example = const importance::ExampleStatistics&;
  using enum importance::StateSet;
  const importance::StateSet losses_in_time = kLossLast | kLossEma;
  std::vector<StatisticRow> rows = {
      {"visits", [](Example e) { return double(e.visits); }, importance::kAnySignal},
      {"non_finite", [](Example e) { return double(e.non_finite); }, importance::kAnySignal}};
  for (const importance::SignalRow& signal : importance::kSignals) {
    const std::string name(signal.name);
    const auto field = [](double importance::ExampleStatistics::*member) {
      return [member](Example e) { return e.*member; };
    };
    rows.push_back({name + "_mean", field(signal.mean_value), signal.mean | signal.variance});
    if (signal.has_variance())
      rows.push_back({name + "_m2", field(signal.m2_value), signal.variance});
  }
  rows.insert(
      rows.end(),
      {{"run_visits", [](Example e) { return double(e.run_visits); }, losses_in_time | kForgetting},
       {"run_losses", [](Example e) { return double(e.run_losses); }, losses_in_time},
       {"loss_last", [](Example e) { return e.loss_last; }, losses_in_time},
       {"loss_ema", [](Example e) { return e.loss_ema; }, kLossEma},
       {"forgotten", [](Example e) { return double(e.forgotten); }, kForgetting},
       {"ever_correct", [](Example e) { return e.ever_correct ? 1.0 : 0.0; }, kForgetting},
       {"truth", [](Example e) { return e.truth; }, kTruth}});
  return rows;
}

const std::vector<StatisticRow>& statistics() {
  static const std::vector<StatisticRow> rows = make_statistics();
  return rows;
}

py::dict statistics_of_one(SharedTable& shared, std::uint64_t id) {
  importance::StateSet needs = importance::StateSet::kNothing;
  const importance::ExampleStatistics example =
      shared.with([&](importance::ImportanceTable& table) {
        needs = table.needs();
        if (id >= table.spec().examples) {
          throw DataError("example id " + std::to_string(id) + " is out of range: there are " +
                          std::to_string(table.spec().examples) + " examples");
        }
        return table.statistics(ExampleId{id});
      });
  py::dict result;
  for (const StatisticRow& row : statistics()) {
    if (importance::overlap(needs, row.needed)) result[row.name.c_str()] = row.value(example);
  }
  return result;
}

py::dict statistics_of_all(SharedTable& shared) {
  std::vector<const StatisticRow*> rows;
  std::vector<std::vector<double>> columns;
  shared.with([&](importance::ImportanceTable& table) {
    for (const StatisticRow& row : statistics()) {
      if (importance::overlap(table.needs(), row.needed)) rows.push_back(&row);
    }
    columns.assign(rows.size(), std::vector<double>(table.spec().examples));
    for (std::uint64_t i = 0; i < table.spec().examples; ++i) {
      const importance::ExampleStatistics example = table.statistics(ExampleId{i});
      for (std::size_t c = 0; c < rows.size(); ++c) columns[c][i] = rows[c]->value(example);
    }
  });
  py::dict result;
  for (std::size_t c = 0; c < rows.size(); ++c) {
    result[rows[c]->name.c_str()] = to_array(std::move(columns[c]));
  }
  return result;
}

/// [examples, epochs]
py::array history_of(SharedTable& shared) {
  std::size_t examples = 0, epochs = 0;
  std::vector<float> losses = shared.with([&](importance::ImportanceTable& table) {
    examples = table.spec().examples;
    epochs = table.losses_by_epoch().size();
    std::vector<float> all(examples * epochs);
    for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
      const auto& column = table.losses_by_epoch()[epoch];
      for (std::size_t i = 0; i < examples; ++i) all[i * epochs + epoch] = column[i];
    }
    return all;
  });
  return to_array(std::move(losses)).reshape({examples, epochs});
}

TablePointer table_of(const py::bytes& saved) {
  const auto text = static_cast<std::string_view>(saved);
  const py::gil_scoped_release release;
  return std::make_unique<SharedTable>(
      importance::table_from_bytes(std::as_bytes(std::span(text))));
}

/// Merging takes a copy of the other first: two threads that merge into each other cannot block.
void merge(SharedTable& shared, SharedTable& other) {
  const importance::ImportanceTable copy =
      other.with([](importance::ImportanceTable& table) { return table; });
  shared.with([&](importance::ImportanceTable& table) { table.merge(copy); });
}

/// By the rules of the table, what a notion in Python said; NaN: unknown.
py::array settle(const Array<float>& values, const Array<std::uint32_t>& non_finite,
                 const std::optional<Array<float>>& previous) {
  std::vector<float> settled(values.data(), values.data() + values.size());
  {
    const py::gil_scoped_release release;
    importance::settle_importance(settled, span_of(non_finite), span_of(previous));
  }
  return to_array(std::move(settled));
}

py::array fill(const Array<float>& values) {
  std::vector<float> filled(values.data(), values.data() + values.size());
  importance::fill_unknown(filled);
  return to_array(std::move(filled));
}

std::vector<std::string> names_of(const std::vector<importance::Signal>& signals) {
  std::vector<std::string> names;
  for (const importance::Signal signal : signals) {
    names.emplace_back(importance::row_of(signal).name);
  }
  return names;
}

/// The table of signals: (name, whether it needs logits, whether it needs features).
py::list describe_signals() {
  py::list rows;
  for (const importance::SignalRow& row : importance::kSignals) {
    rows.append(py::make_tuple(std::string(row.name), row.signal != importance::Signal::kLoss,
                               row.made_from == importance::MadeFrom::kFeatures));
  }
  return rows;
}

py::list describe_notions() {
  py::list rows;
  for (const importance::NotionEntry& notion : importance::kNotions) {
    py::list signals;
    for (const std::string& name : names_of(importance::signals_for(notion.needs))) {
      signals.append(name);
    }
    rows.append(py::make_tuple(std::string(notion.name), std::string(notion.summary), signals,
                               importance::needs_visits(notion.needs)));
  }
  return rows;
}

}  // namespace

void bind_tables(py::module_& module) {
  using namespace py::literals;
  py::class_<SharedTable>(module, "Table")
      .def(py::init(&make_table), "examples"_a, "notions"_a, "keeps"_a, "ignore"_a, "run_window"_a,
           "ema_weight"_a, "seed"_a, "truth"_a.noconvert(), "history"_a)
      .def("observe", observe, "epoch"_a, "ids"_a.noconvert(), "values"_a.noconvert())
      .def("merge", merge, "other"_a)
      .def(
          "known_importance",
          [](SharedTable& shared, const std::string& notion) {
            return to_array(shared.with([&](importance::ImportanceTable& table) {
              return table.known_importance(notion);
            }));
          },
          "notion"_a)
      .def("last_correct",
           [](SharedTable& shared) {
             return to_array(shared.with(
                 [](importance::ImportanceTable& table) { return table.last_correct(); }));
           })
      .def("importance",
           [](SharedTable& shared, const std::string& notion) {
             return to_array(shared.with(
                 [&](importance::ImportanceTable& table) { return table.importance(notion); }));
           })
      .def("close_window",
           [](SharedTable& shared) {
             shared.with([](importance::ImportanceTable& table) { table.close_window(); });
           })
      .def("statistics", statistics_of_one, "id"_a)
      .def("all_statistics", statistics_of_all)
      .def("history", history_of)
      .def("copy",
           [](SharedTable& shared) {
             return std::make_unique<SharedTable>(
                 shared.with([](importance::ImportanceTable& table) { return table; }));
           })
      .def("to_bytes",
           [](SharedTable& shared) {
             return py::bytes(shared.with([](importance::ImportanceTable& table) {
               return importance::table_bytes(table);
             }));
           })
      .def_static("from_bytes", table_of, "bytes"_a)
      .def_property_readonly(
          "needs",
          [](SharedTable& shared) {
            return static_cast<std::uint32_t>(
                shared.with([](importance::ImportanceTable& table) { return table.needs(); }));
          })
      .def_property_readonly("signals",
                             [](SharedTable& shared) {
                               return names_of(shared.with([](importance::ImportanceTable& table) {
                                 return importance::signals_for(table.needs());
                               }));
                             })
      .def_property_readonly("non_finite_visits", [](SharedTable& shared) {
        return shared.with(
            [](importance::ImportanceTable& table) { return table.non_finite_visits(); });
      });
  module.def("settle", settle, "values"_a.noconvert(), "non_finite"_a.noconvert(),
             "previous"_a.noconvert());
  module.def("fill", fill, "values"_a.noconvert());
  module.def("notions", describe_notions);
  module.def("signals", describe_signals);
}

}  // namespace impart::python

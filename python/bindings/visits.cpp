// Visits that wait for a table.

#include "impart/importance/visits.h"

#include <mutex>
#include <string>

#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/visit_buffer.h"

namespace impart::python {
namespace {

/// A buffer that several Python threads may use: the interpreter is let go while it works.
struct SharedBuffer {
  SharedBuffer(std::uint64_t examples, std::uint32_t needs)
      : buffer(examples, static_cast<importance::StateSet>(needs)) {}

  std::mutex mutex;
  VisitBuffer buffer;
};

using Floats32 = std::optional<Array<float>>;
using Targets = std::optional<Array<std::int64_t>>;

void add(SharedBuffer& shared, const Array<std::int64_t>& ids, const Floats32& losses,
         const Floats32& logits, const Targets& targets, const Floats32& features,
         bool allow_duplicates) {
  VisitBuffer::Batch batch{.ids = span_of(ids),
                           .rows = {.losses = span_of(losses)},
                           .allow_duplicates = allow_duplicates};
  if (logits) {
    batch.rows.logits = span_of(logits);
    batch.rows.classes = static_cast<std::size_t>(logits->shape(logits->ndim() - 1));
    batch.rows.targets = span_of(targets);
    batch.rows.features = span_of(features);
    if (targets->ndim() == 2) {
      batch.rows.rows_per_example = static_cast<std::size_t>(targets->shape(1));
    }
  }
  const py::gil_scoped_release release;
  const std::lock_guard lock(shared.mutex);
  shared.buffer.add(batch);
}

void add_signals(SharedBuffer& shared, const Array<std::int64_t>& ids, const Array<float>& values,
                 bool allow_duplicates) {
  const py::gil_scoped_release release;
  const std::lock_guard lock(shared.mutex);
  shared.buffer.add_signals(span_of(ids), span_of(values), allow_duplicates);
}

/// The ids and signals so far; they stay in the buffer.
std::pair<py::array, py::array> contents(SharedBuffer& shared) {
  std::vector<std::uint64_t> ids;
  std::vector<float> values;
  const std::size_t signals = shared.buffer.signals();
  {
    const py::gil_scoped_release release;
    const std::lock_guard lock(shared.mutex);
    ids = numbers_of<std::uint64_t>(std::span<const ExampleId>(shared.buffer.ids()));
    values = shared.buffer.values();
  }
  const std::size_t visits = ids.size();
  return {to_array(std::move(ids)), to_array(std::move(values)).reshape({signals, visits})};
}

}  // namespace

void bind_visits(py::module_& module) {
  using namespace py::literals;
  py::class_<SharedBuffer>(module, "VisitBuffer")
      .def(py::init<std::uint64_t, std::uint32_t>(), "examples"_a, "needs"_a)
      .def("add", add, "ids"_a.noconvert(), "losses"_a.noconvert(), "logits"_a.noconvert(),
           "targets"_a.noconvert(), "features"_a.noconvert(), "allow_duplicates"_a)
      .def("add_signals", add_signals, "ids"_a.noconvert(), "values"_a.noconvert(),
           "allow_duplicates"_a)
      .def("contents", contents)
      .def("clear",
           [](SharedBuffer& shared) {
             const py::gil_scoped_release release;
             const std::lock_guard lock(shared.mutex);
             shared.buffer.clear();
           })
      .def("__len__", [](SharedBuffer& shared) {
        const py::gil_scoped_release release;
        const std::lock_guard lock(shared.mutex);
        return shared.buffer.size();
      });
}

}  // namespace impart::python

// impart._core: what the Python package needs of the library. Every function here takes arrays of
// exactly the right type and lets other Python threads run while it works.

#include "impart/core/error.h"
#include "python/bindings/bindings.h"

namespace impart::python {
namespace {

namespace py = pybind11;

/// An exception of the library as impart.NAME, which is also one of Python's own.
template <class Exception>
void bind_exception(py::module_& module, const char* name, PyObject* base) {
  auto& type = py::register_exception<Exception>(module, name, base);
  type.attr("__module__") = "impart";
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  module.attr("version") = IMPART_VERSION;
  bind_exception<ConfigError>(module, "ConfigError", PyExc_ValueError);
  bind_exception<DataError>(module, "DataError", PyExc_ValueError);
  bind_exception<IoError>(module, "IoError", PyExc_OSError);
  bind_tables(module);
  bind_visits(module);
  bind_partitions(module);
  bind_ownership(module);
}

}  // namespace impart::python

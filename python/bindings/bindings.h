#pragma once

#include <pybind11/pybind11.h>

/// The parts that the module is put together from.
namespace impart::python {

void bind_tables(pybind11::module_& module);      ///< importance tables and notions
void bind_visits(pybind11::module_& module);      ///< visits that wait for a table
void bind_partitions(pybind11::module_& module);  ///< partitions, exchanges, outers
void bind_ownership(pybind11::module_& module);   ///< partitions and orders over the epochs

}  // namespace impart::python

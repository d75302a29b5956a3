#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "impart/core/ids.h"
#include "impart/core/scores.h"

/// Between NumPy's arrays and the library's spans and vectors, without copies. The Python side of
/// the package hands over arrays of the right type and layout; bindings take no others.
namespace impart::python {

namespace py = pybind11;

template <class T>
using Array = py::array_t<T, py::array::c_style>;

template <class T>
std::span<const T> span_of(const Array<T>& array) {
  return {array.data(), static_cast<std::size_t>(array.size())};
}

/// Empty if there is none.
template <class T>
std::span<const T> span_of(const std::optional<Array<T>>& array) {
  return array ? span_of(*array) : std::span<const T>();
}

inline std::span<const ExampleId> ids_of(const Array<std::uint64_t>& array) {
  return {reinterpret_cast<const ExampleId*>(array.data()), static_cast<std::size_t>(array.size())};
}

/// Scores are float32 or float64.
inline Scores scores_of(const py::array& array) {
  if (py::isinstance<Array<float>>(array)) return span_of(py::cast<Array<float>>(array));
  if (py::isinstance<Array<double>>(array)) return span_of(py::cast<Array<double>>(array));
  throw py::type_error("scores must be a contiguous array of float32 or float64");
}

/// An array that owns the vector's memory.
template <class T>
py::array_t<T> to_array(std::vector<T>&& values) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  const auto size = static_cast<py::ssize_t>(owned->size());
  T* const data = owned->data();
  const py::capsule owner(owned.release(),
                          [](void* memory) { delete static_cast<std::vector<T>*>(memory); });
  return py::array_t<T>(size, data, owner);
}

/// The same of two dimensions: as many columns as `rows` leaves.
template <class T>
py::array_t<T> to_matrix(std::vector<T>&& values, std::size_t rows) {
  const std::size_t columns = rows == 0 ? 0 : values.size() / rows;
  return to_array(std::move(values)).reshape({rows, columns});
}

/// Ids and workers as the numbers they are.
template <class Number, class Id>
std::vector<Number> numbers_of(std::span<const Id> ids) {
  std::vector<Number> numbers(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) numbers[i] = static_cast<Number>(ids[i]);
  return numbers;
}

}  // namespace impart::python

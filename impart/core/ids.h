#pragma once

#include <cstdint>

namespace impart {

/// Names one training example: 0..N-1. 64 bits end to end, and never the same type as a worker.
enum class ExampleId : std::uint64_t {};

/// Names one logical data-parallel worker: 0..n-1.
enum class WorkerId : std::uint32_t {};

/// The number behind an id, for indexing arrays.
constexpr std::uint64_t index(ExampleId id) {
  return static_cast<std::uint64_t>(id);
}
constexpr std::uint32_t index(WorkerId id) {
  return static_cast<std::uint32_t>(id);
}

}  // namespace impart

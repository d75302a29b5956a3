#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "impart/core/random.h"
#include "impart/importance/importance_table.h"

namespace impart::testing {

/// One batch of visits with all seven signals.
struct VisitBatch {
  std::uint32_t epoch = 0;
  std::vector<ExampleId> ids;
  std::array<std::vector<float>, 7> values;

  void add(ExampleId id, RandomStream& random) {
    ids.push_back(id);
    for (auto& signal : values) signal.push_back(static_cast<float>(random.exponential()));
    values[2].back() = random.below(2) == 0 ? 0.0f : 1.0f;
    if (random.below(50) == 0) values[0].back() = std::numeric_limits<float>::quiet_NaN();
  }
  void observe(importance::ImportanceTable& table) const {
    table.observe(epoch, ids,
                  {values[0], values[1], values[2], values[3], values[4], values[5], values[6]});
  }
};

inline std::vector<importance::AnyNotion> all_notions() {
  return {std::begin(importance::kNotions), std::end(importance::kNotions)};
}

inline importance::TableSpec spec_with_all_notions(std::uint64_t examples) {
  return {.examples = examples,
          .notions = all_notions(),
          .seed = 3,
          .truth = std::vector<float>(examples, 0.5f),
          .history = true};
}

}  // namespace impart::testing

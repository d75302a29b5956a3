#pragma once

#include <optional>
#include <string_view>

#include "impart/core/named_table.h"
#include "impart/run/epoch_record.h"
#include "impart/run/summary.h"

namespace impart::run {

/// Where a metric of a task (data/task.h) stands in the records of a run.
struct ResultColumn {
  std::string_view name;
  std::optional<double> EpochRecord::*test;
  std::optional<double> RunSummary::*best, RunSummary::*last;
};

inline constexpr ResultColumn kResultColumns[] = {
    {"accuracy", &EpochRecord::test_accuracy, &RunSummary::best_accuracy,
     &RunSummary::final_accuracy},
    {"perplexity", &EpochRecord::test_perplexity, &RunSummary::best_perplexity,
     &RunSummary::final_perplexity},
    {"bits_per_byte", &EpochRecord::test_bits_per_byte, &RunSummary::best_bits_per_byte,
     &RunSummary::final_bits_per_byte},
};
static_assert(names_are_unique(kResultColumns));

inline const ResultColumn& column_of(std::string_view metric) {
  return find_entry(kResultColumns, "metric", metric);
}

}  // namespace impart::run

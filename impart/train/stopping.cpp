#include "impart/train/stopping.h"

namespace impart::train {

bool reaches(const config::StopConfig& stop, const data::Task& task,
             const data::TestOutcome& outcome) {
  if (!stop.at) return false;
  for (const data::Metric& metric : task.metrics) {
    if (metric.name != stop.at->metric) continue;
    const auto result = metric.measure(outcome);
    return result && stop.at->is_reached_by(*result);
  }
  return false;
}

std::uint32_t evaluations_between(std::uint32_t first, std::uint32_t last, std::uint32_t every) {
  return (last + 1) / every - (first + 1) / every;
}

}  // namespace impart::train

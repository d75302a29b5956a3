#include "impart/data/task.h"

#include <cmath>
#include <numbers>

#include <fmt/format.h>

namespace impart::data {

std::optional<double> measure_perplexity(const TestOutcome& outcome) {
  return std::exp(outcome.loss);
}

std::optional<double> measure_bits_per_byte(const TestOutcome& outcome) {
  if (outcome.bytes == 0) return std::nullopt;
  const double nats = outcome.loss * static_cast<double>(outcome.predictions);
  return nats / std::numbers::ln2 / static_cast<double>(outcome.bytes);
}

double score_of(const Task& task, const TestOutcome& outcome) {
  return task.metrics.front().measure(outcome).value_or(std::nan(""));
}

bool is_better(const Task& task, double score, std::optional<double> best) {
  if (!best || std::isnan(*best)) return true;
  return task.larger_is_better ? score > *best : score < *best;
}

std::string score_text(const Task& task, double score) {
  const Metric& metric = task.metrics.front();
  return fmt::format("{:.{}f}{}", score, metric.digits, metric.unit);
}

std::string test_text(const Task& task, double loss, double score, std::string_view part) {
  return fmt::format(fmt::runtime(task.words), fmt::arg("part", part), fmt::arg("loss", loss),
                     fmt::arg("score", score_text(task, score)));
}

}  // namespace impart::data

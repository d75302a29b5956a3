#include "impart/importance/notions.h"

#include <cmath>
#include <limits>

namespace impart::importance {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// A value that is known from the first visit of the window on.
double if_visited(const ExampleStatistics& example, double value) {
  return example.visits > 0 ? value : kUnknown;
}

double population_variance_of_probability(const ExampleStatistics& example) {
  return example.probability_m2 / example.visits;
}

}  // namespace

double loss_average(const ExampleStatistics& example) {
  return if_visited(example, example.loss_mean);
}

double loss_variance(const ExampleStatistics& example) {
  return example.visits > 1 ? example.loss_m2 / (example.visits - 1) : kUnknown;
}

double loss_last(const ExampleStatistics& example) {
  return example.run_losses > 0 ? example.loss_last : kUnknown;
}

double loss_ema(const ExampleStatistics& example) {
  return example.run_losses > 0 ? example.loss_ema : kUnknown;
}

// Never once correct ranks hardest: nothing can be forgotten more often than it was visited.
double forgetting(const ExampleStatistics& example) {
  if (example.run_visits == 0) return kUnknown;
  return example.ever_correct ? example.forgotten : example.run_visits;
}

double confidence(const ExampleStatistics& example) {
  return if_visited(example, 1 - example.probability_mean);
}

double variability(const ExampleStatistics& example) {
  return if_visited(example, std::sqrt(population_variance_of_probability(example)));
}

double correctness(const ExampleStatistics& example) {
  return if_visited(example, 1 - example.correct_mean);
}

double prediction_variance(const ExampleStatistics& example) {
  if (example.visits == 0) return kUnknown;
  const double v = population_variance_of_probability(example);
  return example.visits == 1 ? v : std::sqrt(v + v * v / (example.visits - 1));
}

double threshold_closeness(const ExampleStatistics& example) {
  return if_visited(example, example.probability_mean * (1 - example.probability_mean));
}

double grad_norm(const ExampleStatistics& example) {
  return if_visited(example, example.gradient_bound_mean);
}

double el2n(const ExampleStatistics& example) {
  return if_visited(example, example.error_norm_mean);
}

double margin(const ExampleStatistics& example) {
  return if_visited(example, -example.margin_mean);
}

double entropy(const ExampleStatistics& example) {
  return if_visited(example, example.entropy_mean);
}

double random_noise(const ExampleStatistics& example) {
  return example.noise;
}

double truth(const ExampleStatistics& example) {
  return example.truth;
}

std::vector<AnyNotion> notions_named(const std::vector<std::string_view>& names) {
  std::vector<AnyNotion> entries;
  entries.reserve(names.size());
  for (const std::string_view name : names) entries.push_back(find_entry(kNotions, "notion", name));
  return entries;
}

}  // namespace impart::importance

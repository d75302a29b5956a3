#include "impart/importance/logit_signals.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/importance/logit_rows.h"
#include "impart/importance/visits.h"

namespace impart::importance {
namespace {

/// The sums over an example's rows, and the number of rows that counted.
struct ExampleSums {
  double loss = 0, probability = 0, correct = 0, margin = 0, entropy = 0, error_norm = 0,
         gradient_bound = 0;
  std::size_t rows = 0;
};

bool needs(StateSet state, std::string_view name) {
  return std::any_of(std::begin(kSignals), std::end(kSignals), [&](const SignalRow& signal) {
    return signal.name == name && overlap(state, signal.needed_for);
  });
}

std::size_t check(const ForwardRows& batch, StateSet state) {
  const std::size_t rows = batch.targets.size();
  const std::size_t per_example = std::max<std::size_t>(1, batch.rows_per_example);
  if (batch.classes == 0 || batch.logits.size() != rows * batch.classes) {
    throw DataError(fmt::format("there are {} logits for {} targets of {} classes",
                                batch.logits.size(), rows, batch.classes));
  }
  if (rows % per_example != 0) {
    throw DataError(fmt::format("{} targets are not blocks of {}", rows, per_example));
  }
  if (!batch.losses.empty() && batch.losses.size() != rows / per_example) {
    throw DataError(fmt::format("there are {} losses for {} examples", batch.losses.size(),
                                rows / per_example));
  }
  if (needs(state, "gradient_bound") &&
      (rows > 0 && (batch.features.empty() || batch.features.size() % rows != 0))) {
    throw DataError("the gradient bound needs features, the last layer's input, of every target");
  }
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int64_t target = batch.targets[row];
    const bool is_ignored = target == kIgnoredTarget && batch.rows_per_example > 0;
    if (is_ignored || (target >= 0 && static_cast<std::size_t>(target) < batch.classes)) continue;
    throw DataError(fmt::format("target {} at position {} is not one of {} classes", target, row,
                                batch.classes));
  }
  return rows / per_example;
}

double feature_factor(const ForwardRows& batch, std::size_t row) {
  const std::size_t width = batch.features.size() / batch.targets.size();
  double squares = 0;
  for (const float h : batch.features.subspan(row * width, width)) squares += double{h} * double{h};
  return std::sqrt(1 + squares);
}

ExampleSums sum_rows(const ForwardRows& batch, std::size_t first, std::size_t count,
                     bool with_features) {
  ExampleSums sums;
  for (std::size_t row = first; row < first + count; ++row) {
    if (batch.targets[row] == kIgnoredTarget) continue;
    const RowSignals signals =
        signals_of_row(batch.logits.data() + row * batch.classes, batch.classes,
                       static_cast<std::size_t>(batch.targets[row]));
    sums.loss += double{signals.loss};
    sums.probability += double{signals.probability};
    sums.correct += double{signals.correct};
    sums.margin += double{signals.margin};
    sums.entropy += double{signals.entropy};
    sums.error_norm += double{signals.error_norm};
    if (with_features) {
      sums.gradient_bound += double{signals.error_norm} * feature_factor(batch, row);
    }
    ++sums.rows;
  }
  return sums;
}

}  // namespace

std::vector<std::string_view> signals_for(StateSet state) {
  std::vector<std::string_view> names;
  for (const SignalRow& signal : kSignals) {
    if (overlap(state, signal.needed_for)) names.push_back(signal.name);
  }
  return names;
}

std::vector<float> signals_of_logits(const ForwardRows& batch, StateSet state) {
  const std::size_t examples = check(batch, state);
  const auto names = signals_for(state);
  const bool with_features = needs(state, "gradient_bound");
  const bool is_block = batch.rows_per_example > 0;
  const std::size_t per_example = std::max<std::size_t>(1, batch.rows_per_example);
  std::vector<float> values(names.size() * examples);
  for (std::size_t i = 0; i < examples; ++i) {
    const ExampleSums sums = sum_rows(batch, i * per_example, per_example, with_features);
    const double rows = static_cast<double>(std::max<std::size_t>(1, sums.rows));
    const double loss = batch.losses.empty() ? sums.loss / rows : double{batch.losses[i]};
    std::size_t position = i;
    for (const std::string_view name : names) {
      double value = 0;
      if (name == "loss") value = loss;
      if (name == "probability") value = is_block ? std::exp(-loss) : sums.probability;
      if (name == "correct") value = sums.correct / rows;
      if (name == "margin") value = sums.margin / rows;
      if (name == "entropy") value = sums.entropy / rows;
      if (name == "error_norm") value = sums.error_norm / rows;
      if (name == "gradient_bound") value = sums.gradient_bound / rows;
      values[position] = static_cast<float>(value);
      position += examples;
    }
  }
  return values;
}

}  // namespace impart::importance

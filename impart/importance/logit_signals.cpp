#include "impart/importance/logit_signals.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/importance/logit_rows.h"

namespace impart::importance {
namespace {

bool needs_features(StateSet state) {
  return std::any_of(std::begin(kSignals), std::end(kSignals), [&](const SignalRow& row) {
    return row.made_from == MadeFrom::kFeatures && overlap(state, row.needed_for());
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
  if (needs_features(state) &&
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

/// The features of a row.
std::span<const float> features_of(const ForwardRows& batch, std::size_t row) {
  const std::size_t width = batch.features.size() / batch.targets.size();
  return batch.features.subspan(row * width, width);
}

/// The sums over an example's rows, and the number of rows that counted.
struct ExampleSums {
  PerSignal<double> values = {};
  std::size_t rows = 0;
};

ExampleSums sum_rows(const ForwardRows& batch, std::size_t first, std::size_t count,
                     bool with_features) {
  ExampleSums sums;
  for (std::size_t row = first; row < first + count; ++row) {
    if (batch.targets[row] == kIgnoredTarget) continue;
    const PerSignal<double> signals =
        signals_of_row(batch.logits.subspan(row * batch.classes, batch.classes),
                       static_cast<std::size_t>(batch.targets[row]),
                       with_features ? features_of(batch, row) : std::span<const float>());
    for (std::size_t s = 0; s < kSignalCount; ++s) sums.values.values[s] += signals.values[s];
    ++sums.rows;
  }
  return sums;
}

}  // namespace

std::vector<Signal> signals_for(StateSet needs) {
  std::vector<Signal> signals;
  for (const SignalRow& row : kSignals) {
    if (overlap(needs, row.needed_for())) signals.push_back(row.signal);
  }
  return signals;
}

std::vector<float> signals_of_logits(const ForwardRows& batch, StateSet needs) {
  const std::size_t examples = check(batch, needs);
  const std::vector<Signal> wanted = signals_for(needs);
  const bool with_features = needs_features(needs);
  const bool is_block = batch.rows_per_example > 0;
  const std::size_t per_example = std::max<std::size_t>(1, batch.rows_per_example);
  std::vector<float> values(wanted.size() * examples);
  for (std::size_t i = 0; i < examples; ++i) {
    const ExampleSums sums = sum_rows(batch, i * per_example, per_example, with_features);
    const double rows = static_cast<double>(std::max<std::size_t>(1, sums.rows));
    const double loss =
        batch.losses.empty() ? sums.values[Signal::kLoss] / rows : double{batch.losses[i]};
    std::size_t position = i;
    for (const Signal signal : wanted) {
      double value = sums.values[signal] / rows;
      if (signal == Signal::kLoss) value = loss;
      if (signal == Signal::kProbability && is_block) value = std::exp(-loss);
      values[position] = static_cast<float>(value);
      position += examples;
    }
  }
  return values;
}

}  // namespace impart::importance

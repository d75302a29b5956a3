#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "impart/importance/signals.h"

namespace impart::testing {

/// The signals of a row of logits by their definitions, in doubles: what every implementation of
/// kSignals must find.
inline importance::PerSignal<double> define_signals(std::span<const float> logits,
                                                    std::size_t target,
                                                    std::span<const float> features) {
  const double largest = double{*std::max_element(logits.begin(), logits.end())};
  double sum = 0, other = -std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < logits.size(); ++c) {
    sum += std::exp(double{logits[c]} - largest);
    if (c != target) other = std::max(other, double{logits[c]});
  }
  double entropy = 0, error = 0, squares = 0;
  for (std::size_t c = 0; c < logits.size(); ++c) {
    const double p = std::exp(double{logits[c]} - largest) / sum;
    entropy -= p > 0 ? p * std::log(p) : 0;
    error += std::pow(p - (c == target ? 1 : 0), 2);
  }
  for (const float h : features) squares += double{h} * double{h};
  const double own = double{logits[target]};
  const double loss = std::log(sum) + largest - own;
  using importance::Signal;
  importance::PerSignal<double> values;
  values[Signal::kLoss] = loss;
  values[Signal::kProbability] = std::exp(-loss);
  values[Signal::kCorrect] = own > other ? 1 : 0;
  values[Signal::kMargin] = own - other;
  values[Signal::kEntropy] = entropy;
  values[Signal::kErrorNorm] = std::sqrt(error);
  values[Signal::kGradientBound] = std::sqrt(error) * std::sqrt(1 + squares);
  return values;
}

}  // namespace impart::testing

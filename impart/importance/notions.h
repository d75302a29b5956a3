#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "impart/core/named_table.h"
#include "impart/importance/signals.h"

namespace impart::importance {

/// The history of an example's signals as one number, larger for harder. NaN: too few visits to
/// say.
using Notion = double(const ExampleStatistics& example);

Notion loss_average, loss_variance, loss_last, loss_ema, forgetting, confidence, variability,
    correctness, prediction_variance, threshold_closeness, grad_norm, el2n, margin, entropy,
    random_noise, truth;

/// A notion and what it looks at: a row of kNotions, or any function.
struct AnyNotion : AnyEntry<Notion> {
  StateSet needs = StateSet::kNothing;
  /// What to use instead if not even one example has enough visits.
  std::function<Notion> fallback = {};
};

/// A row of kNotions.
struct NotionEntry : Entry<Notion> {
  StateSet needs = StateSet::kNothing;
  Notion* fallback = nullptr;

  operator AnyNotion() const {  // NOLINT: a row converts
    return {{std::string(name), std::string(summary), function}, needs, fallback};
  }
};

inline constexpr NotionEntry kNotions[] = {
    {{"loss-average", "mean loss", loss_average}, StateSet::kLossMean},
    {{"loss-variance", "variance of the loss", loss_variance},
     StateSet::kLossMean | StateSet::kLossVariance,
     loss_average},
    {{"loss-last", "loss at the last visit", loss_last}, StateSet::kLossLast},
    {{"loss-ema", "moving average of the loss over the run", loss_ema}, StateSet::kLossEma},
    {{"forgetting", "how often it was forgotten over the run", forgetting}, StateSet::kForgetting},
    {{"confidence", "1 - mean probability of the true class", confidence},
     StateSet::kProbabilityMean},
    {{"variability", "standard deviation of the probability of the true class", variability},
     StateSet::kProbabilityMean | StateSet::kProbabilityVariance},
    {{"correctness", "share of visits with a wrong prediction", correctness}, StateSet::kCorrect},
    {{"prediction-variance", "uncertainty of the predicted probability", prediction_variance},
     StateSet::kProbabilityMean | StateSet::kProbabilityVariance},
    {{"threshold-closeness", "closeness of the predicted probability to 1/2", threshold_closeness},
     StateSet::kProbabilityMean},
    {{"grad-norm", "mean bound on the gradient norm", grad_norm}, StateSet::kGradientBound},
    {{"el2n", "mean norm of the error vector", el2n}, StateSet::kErrorNorm},
    {{"margin", "- mean margin between the true and the best other logit", margin},
     StateSet::kMargin},
    {{"entropy", "mean entropy of the prediction", entropy}, StateSet::kEntropy},
    {{"random", "noise: is it the importance, or only the repartitioning?", random_noise},
     StateSet::kNoise},
    {{"truth", "the data set's own difficulty, where it knows one", truth}, StateSet::kTruth},
};
static_assert(names_are_unique(kNotions));

/// Whether a notion of these needs looks at visits; noise and the data's own difficulty are known
/// before the first.
constexpr bool needs_visits(StateSet needs) {
  return !overlap(needs, StateSet::kNoise | StateSet::kTruth);
}

/// Whether a notion of these needs looks at the visits of a window, which `importance.ignore` keeps
/// the first epochs out of; the others look at all of the run, or at none.
constexpr bool needs_window(StateSet needs) {
  constexpr StateSet kOfRun = StateSet::kLossLast | StateSet::kLossEma | StateSet::kForgetting;
  return needs_visits(needs) && !overlap(needs, kOfRun);
}

/// The rows of these names; ConfigError with a suggestion for one that is not there.
std::vector<AnyNotion> notions_named(const std::vector<std::string_view>& names);

}  // namespace impart::importance

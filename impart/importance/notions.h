#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "impart/core/named_table.h"

namespace impart::importance {

/// Which parts of its state the importance table keeps. A set: combine with |.
enum class StateSet : std::uint32_t {
  kNothing = 0,
  kLossMean = 1 << 0,
  kLossVariance = 1 << 1,
  kProbabilityMean = 1 << 2,
  kProbabilityVariance = 1 << 3,
  kCorrect = 1 << 4,
  kMargin = 1 << 5,
  kEntropy = 1 << 6,
  kErrorNorm = 1 << 7,
  kGradientBound = 1 << 8,
  kLossLast = 1 << 9,
  kLossEma = 1 << 10,
  kForgetting = 1 << 11,
  kNoise = 1 << 12,  ///< random numbers from the run's seed
  kTruth = 1 << 13,  ///< the data set's own difficulty
};
constexpr StateSet operator|(StateSet a, StateSet b) {
  return static_cast<StateSet>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
/// Whether the two sets share anything.
constexpr bool overlap(StateSet a, StateSet b) {
  return (static_cast<std::uint32_t>(a) & static_cast<std::uint32_t>(b)) != 0;
}

/// What is known of one example. Fields whose state the table does not keep are 0.
struct ExampleStatistics {
  // Over the visits of the window, not counting those with NaN or infinite signals:
  std::uint32_t visits = 0;
  std::uint32_t non_finite = 0;  ///< those visits
  double loss_mean = 0;
  double loss_m2 = 0;  ///< sum of squared differences from the mean
  double probability_mean = 0;
  double probability_m2 = 0;
  double correct_mean = 0;
  double margin_mean = 0;
  double entropy_mean = 0;
  double error_norm_mean = 0;
  double gradient_bound_mean = 0;
  // Over the visits of the run:
  std::uint32_t run_visits = 0;
  std::uint32_t run_losses = 0;  ///< of them with finite signals: those in the next two
  double loss_last = 0;
  double loss_ema = 0;
  std::uint32_t forgotten = 0;  ///< visits that were wrong right after a correct one
  bool ever_correct = false;
  // Not from visits:
  double noise = 0;  ///< uniform in [0, 1)
  double truth = 0;
};

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

/// The rows of these names; ConfigError with a suggestion for one that is not there.
std::vector<AnyNotion> notions_named(const std::vector<std::string_view>& names);

}  // namespace impart::importance

#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace impart::importance {

// What one visit of an example yields, all from the training forward pass. A signal is a row of
// kSignals, at the end of this file; everything that knows signals by name goes by that table, and
// what computes them (logit_rows.cpp on the CPU, train/batch_signals.cpp with torch,
// cuda/row_signals.h on a GPU, python/impart/_device.py) by the enumeration: a compiler or a test
// complains about the one that lacks it.

enum class Signal : std::uint8_t {
  kLoss,
  kProbability,    ///< softmax probability of the true class
  kCorrect,        ///< 1 if the true class has the largest logit, else 0
  kMargin,         ///< logit of the true class - largest other logit
  kEntropy,        ///< -Σ p ln p, in nats
  kErrorNorm,      ///< ‖p - onehot(y)‖₂ (EL2N)
  kGradientBound,  ///< error_norm · √(1 + ‖h‖²), h: last layer's input
};
inline constexpr std::size_t kSignalCount = 7;

/// The signals of a batch. Element j of every span belongs to the j-th id of the batch. Spans of
/// signals that no chosen notion needs may be empty. For token blocks every signal is the mean over
/// tokens, and probability is exp(-loss).
struct Signals {
  std::span<const float> loss = {};
  std::span<const float> probability = {};
  std::span<const float> correct = {};
  std::span<const float> margin = {};
  std::span<const float> entropy = {};
  std::span<const float> error_norm = {};
  std::span<const float> gradient_bound = {};
};

/// The signals of `count` visits from visit `start` on; spans that are empty stay empty.
Signals subrange(const Signals& signals, std::size_t start, std::size_t count);

/// A visit counts as correct from here on; with shares of right tokens, more right than wrong.
inline constexpr float kCorrectFrom = 0.5f;

/// Which parts of its state the importance table keeps. A set: combine with |. Files hold the
/// numbers.
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

/// What one look at a row of logits found on the CPU; e = exp(logit - largest).
struct LogitRow {
  float own = 0;         ///< logit of the true class
  float best_other = 0;  ///< largest of the others
  float largest = 0;     ///< of all
  bool is_correct = false;
  float own_e = 0, others_e = 0, total_e = 0;  ///< the others' sum, everyone's
  float log_total = 0;                         ///< of total_e
  float other_squares = 0;                     ///< Σ e² over the others
  float differences = 0;                       ///< Σ e · (logit - largest) over all
  double feature_squares = 0;                  ///< Σ h²
};

/// What a signal takes besides the true class.
enum class MadeFrom : std::uint8_t {
  kLosses,  ///< the losses of training where they are known, else the logits
  kLogits,
  kFeatures,  ///< logits and the last layer's input
};

/// One signal.
struct SignalRow {
  Signal signal;
  std::string_view name;
  MadeFrom made_from;
  std::span<const float> Signals::*values;

  // What is kept of it over a window, and where statistics say it: its mean, and its variance if
  // there is something that can ask for that.
  StateSet mean;
  double ExampleStatistics::*mean_value;
  StateSet variance = StateSet::kNothing;
  double ExampleStatistics::*m2_value = nullptr;
  StateSet in_time = StateSet::kNothing;  ///< what is kept of it over the run

  /// From a row of logits on the CPU.
  double (*of_row)(const LogitRow& row);

  constexpr bool has_variance() const { return variance != StateSet::kNothing; }
  constexpr StateSet needed_for() const { return mean | variance | in_time; }
};

namespace of_row {

inline double loss(const LogitRow& row) {
  return double{row.log_total + (row.largest - row.own)};
}
inline double probability(const LogitRow& row) {
  return double{row.own_e / row.total_e};
}
inline double correct(const LogitRow& row) {
  return row.is_correct ? 1.0 : 0.0;
}
inline double margin(const LogitRow& row) {
  return double{row.own - row.best_other};
}
inline double entropy(const LogitRow& row) {
  return double{row.log_total - row.differences / row.total_e};
}
inline double error_norm(const LogitRow& row) {
  const float missing = row.others_e / row.total_e;
  return double{std::sqrt(missing * missing + row.other_squares / (row.total_e * row.total_e))};
}
inline double gradient_bound(const LogitRow& row) {
  return error_norm(row) * std::sqrt(1 + row.feature_squares);
}

}  // namespace of_row

inline constexpr SignalRow kSignals[] = {
    {.signal = Signal::kLoss,
     .name = "loss",
     .made_from = MadeFrom::kLosses,
     .values = &Signals::loss,
     .mean = StateSet::kLossMean,
     .mean_value = &ExampleStatistics::loss_mean,
     .variance = StateSet::kLossVariance,
     .m2_value = &ExampleStatistics::loss_m2,
     .in_time = StateSet::kLossLast | StateSet::kLossEma,
     .of_row = of_row::loss},
    {.signal = Signal::kProbability,
     .name = "probability",
     .made_from = MadeFrom::kLosses,
     .values = &Signals::probability,
     .mean = StateSet::kProbabilityMean,
     .mean_value = &ExampleStatistics::probability_mean,
     .variance = StateSet::kProbabilityVariance,
     .m2_value = &ExampleStatistics::probability_m2,
     .of_row = of_row::probability},
    {.signal = Signal::kCorrect,
     .name = "correct",
     .made_from = MadeFrom::kLogits,
     .values = &Signals::correct,
     .mean = StateSet::kCorrect,
     .mean_value = &ExampleStatistics::correct_mean,
     .in_time = StateSet::kForgetting,
     .of_row = of_row::correct},
    {.signal = Signal::kMargin,
     .name = "margin",
     .made_from = MadeFrom::kLogits,
     .values = &Signals::margin,
     .mean = StateSet::kMargin,
     .mean_value = &ExampleStatistics::margin_mean,
     .of_row = of_row::margin},
    {.signal = Signal::kEntropy,
     .name = "entropy",
     .made_from = MadeFrom::kLogits,
     .values = &Signals::entropy,
     .mean = StateSet::kEntropy,
     .mean_value = &ExampleStatistics::entropy_mean,
     .of_row = of_row::entropy},
    {.signal = Signal::kErrorNorm,
     .name = "error_norm",
     .made_from = MadeFrom::kLogits,
     .values = &Signals::error_norm,
     .mean = StateSet::kErrorNorm,
     .mean_value = &ExampleStatistics::error_norm_mean,
     .of_row = of_row::error_norm},
    {.signal = Signal::kGradientBound,
     .name = "gradient_bound",
     .made_from = MadeFrom::kFeatures,
     .values = &Signals::gradient_bound,
     .mean = StateSet::kGradientBound,
     .mean_value = &ExampleStatistics::gradient_bound_mean,
     .of_row = of_row::gradient_bound},
};

constexpr std::size_t index(Signal signal) {
  return static_cast<std::size_t>(signal);
}
constexpr const SignalRow& row_of(Signal signal) {
  return kSignals[index(signal)];
}

/// The rows stand in the order of the enumeration.
consteval bool signals_are_in_order() {
  if (std::size(kSignals) != kSignalCount) return false;
  for (std::size_t s = 0; s < kSignalCount; ++s) {
    if (index(kSignals[s].signal) != s) return false;
  }
  return true;
}
static_assert(signals_are_in_order());

/// All state that is made from visits.
inline constexpr StateSet kAnySignal = [] {
  StateSet any = StateSet::kNothing;
  for (const SignalRow& row : kSignals) any = any | row.needed_for();
  return any;
}();

/// One value for each signal.
template <class Value>
struct PerSignal {
  Value values[kSignalCount] = {};

  constexpr Value& operator[](Signal signal) { return values[index(signal)]; }
  constexpr const Value& operator[](Signal signal) const { return values[index(signal)]; }
};

}  // namespace impart::importance

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "impart/core/ids.h"
#include "impart/importance/columns.h"
#include "impart/importance/signals.h"

namespace impart::importance {

/// One signal: its name, where it stands in Signals, and which state is made from it.
struct SignalRow {
  std::string_view name;
  std::span<const float> Signals::*values;
  StateSet needed_for;
};

inline constexpr SignalRow kSignals[] = {
    {"loss", &Signals::loss,
     StateSet::kLossMean | StateSet::kLossVariance | StateSet::kLossLast | StateSet::kLossEma},
    {"probability", &Signals::probability,
     StateSet::kProbabilityMean | StateSet::kProbabilityVariance},
    {"correct", &Signals::correct, StateSet::kCorrect | StateSet::kForgetting},
    {"margin", &Signals::margin, StateSet::kMargin},
    {"entropy", &Signals::entropy, StateSet::kEntropy},
    {"error_norm", &Signals::error_norm, StateSet::kErrorNorm},
    {"gradient_bound", &Signals::gradient_bound, StateSet::kGradientBound},
};

/// A batch cut into visits whose signals are all finite and visits with NaN or infinities. A batch
/// without the latter, the usual case, is not copied.
struct SplitBatch {
  std::span<const ExampleId> finite_ids;
  Signals finite;
  std::vector<ExampleId> non_finite_ids;

  std::vector<ExampleId> finite_ids_copy;
  std::vector<float> finite_copy[std::size(kSignals)];
};
SplitBatch split_batch(std::span<const ExampleId> ids, const Signals& signals, StateSet needs);

/// Adds visits to the window's state. `scratch` is working memory, kept from call to call.
void add_window_visits(Columns& columns, std::span<const ExampleId> ids, const Signals& signals,
                       std::vector<float>& scratch);

/// Adds visits to the run's state.
void add_run_visits(Columns& columns, std::uint32_t epoch, std::span<const ExampleId> ids,
                    const Signals& signals, float ema_weight);

/// Adds visits with NaN or infinite signals: they count as wrong, and their losses not at all.
void add_non_finite_visits(Columns& columns, std::uint32_t epoch, std::span<const ExampleId> ids,
                           bool in_window);

}  // namespace impart::importance

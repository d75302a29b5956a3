#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "impart/core/ids.h"
#include "impart/importance/columns.h"
#include "impart/importance/signals.h"

namespace impart::importance {

/// A batch cut into visits whose signals are all finite and visits with NaN or infinities. A batch
/// without the latter, the usual case, is not copied.
struct SplitBatch {
  std::span<const ExampleId> finite_ids;
  Signals finite;
  std::vector<ExampleId> non_finite_ids;

  std::vector<ExampleId> finite_ids_copy;
  PerSignal<std::vector<float>> finite_copy;
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

#pragma once

#include <cstddef>
#include <span>

#include "impart/importance/signals.h"

namespace impart::importance {

/// What one row of logits says about its true class: SignalRow::of_row for every signal, 0 for
/// those that need features if there are none. NaN and plus infinity among the logits give NaN or
/// infinite signals.
PerSignal<double> signals_of_row(std::span<const float> logits, std::size_t target,
                                 std::span<const float> features);

}  // namespace impart::importance

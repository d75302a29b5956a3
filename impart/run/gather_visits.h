#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "impart/comm/communicator.h"
#include "impart/core/ids.h"
#include "impart/placement/step_plan.h"

namespace impart::run {

/// Visits and their signals, as the importance table takes them.
struct Visits {
  std::vector<ExampleId> ids;
  std::vector<float> values;  ///< [signals, ids]
  /// In which step of the epoch each was made; empty: nobody knows.
  std::vector<std::uint32_t> steps = {};
};

struct GatherVisitsSpec {
  const placement::StepPlan* plan = nullptr;
  std::uint32_t first_step = 0, last_step = 0;  ///< the steps that were run: first..last-1
  std::size_t signals = 0;                      ///< per visit
  /// This process's signals, [signals, rows], rows as in visits_of.
  std::span<const float> mine = {};
  /// Visits made before, which come first in the result.
  const Visits* earlier = nullptr;
  /// Whether an example's visits do not count; empty: all count.
  const std::vector<bool>* skipped = nullptr;
};

/// Brings the visits of all processes together and shows them piece by piece: those made before,
/// then process after process, in the order of visits_of. Ids are known to everybody, only signals
/// travel, and only they are kept: 4 bytes for each signal and visit. Repeated visits of padded
/// parts are left out.
/// Collective: every process calls it, in the same order.
void show_visits(const GatherVisitsSpec& spec, comm::Communicator& communicator,
                 const std::function<void(const Visits& piece)>& show);

/// The same visits as one list.
/// Collective: every process calls it, in the same order.
Visits gather_visits(const GatherVisitsSpec& spec, comm::Communicator& communicator);

}  // namespace impart::run

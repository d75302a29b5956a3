#pragma once

#include <span>
#include <vector>

#include "impart/comm/communicator.h"
#include "impart/core/ids.h"

namespace impart::run {

/// The ids that all processes name, in the order of ranks. What travels grows with the ids that are
/// named and the processes, not with the examples.
/// Collective: every process calls it, in the same order.
std::vector<ExampleId> gather_ids(std::span<const ExampleId> mine,
                                  comm::Communicator& communicator);

}  // namespace impart::run

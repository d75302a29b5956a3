#pragma once

#include <span>
#include <vector>

#include <torch/types.h>

#include "impart/comm/communicator.h"

namespace impart::train {

// Sums over all processes of float tensors on any device. A communicator needs memory of the host:
// the tensor itself, or a copy.

std::span<float> floats(torch::Tensor& tensor);

/// Every process's tensor becomes the sum of theirs.
/// Collective: every process calls it, in the same order.
void sum_over_processes(torch::Tensor& tensor, comm::Communicator& communicator);

/// `sum` becomes that of all processes' parts, in which their order does not matter.
/// Collective: every process calls it, in the same order.
void sum_exactly(const std::vector<torch::Tensor>& parts, torch::Tensor& sum,
                 comm::Communicator& communicator);

/// [n, k] on every process, one row for each of the run's n workers, from the [hosted, k] of each.
/// Collective: every process calls it, in the same order.
torch::Tensor gather_rows(const torch::Tensor& hosted_rows, std::uint32_t workers,
                          comm::Communicator& communicator);

}  // namespace impart::train

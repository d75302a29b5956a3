#pragma once

#include <memory>

#include <torch/types.h>

#include "impart/comm/communicator.h"
#include "impart/models/classifier.h"

namespace impart {

/// Gets a program's own model (RunSpec::own_model) ready to be trained: moves it to the device, and
/// gives all processes the parameters and buffers that process 0 has. ConfigError if it cannot be
/// trained here:
///   it has no parameters, or one that is not float, needs no gradient, or is registered twice;
///   it has a batch norm of torch's, which would mix the workers that a process stacks: take
///   WorkerBatchNorm2d (worker_batch_norm.h), which also takes [B, C].
/// Collective: every process calls it, in the same order.
void prepare_own_model(Classifier& model, torch::Device device, Communicator& communicator);

}  // namespace impart

#pragma once

#include <memory>

#include <torch/types.h>

#include "impart/comm/communicator.h"
#include "impart/models/classifier.h"

namespace impart::train {

/// ConfigError if a program's own model (RunSpec::own_model) cannot be trained here:
///   it has no parameters, or one that is not float, needs no gradient, or is registered twice;
///   it has a batch norm of torch's, which would mix the workers that a process stacks: take
///   WorkerBatchNorm2d (worker_batch_norm.h), which also takes [B, C].
void check_own_model(models::Classifier& model);

/// Moves it to the device, and gives all processes the parameters and buffers that process 0 has.
/// Collective: every process calls it, in the same order.
void prepare_own_model(models::Classifier& model, torch::Device device,
                       comm::Communicator& communicator);

}  // namespace impart::train

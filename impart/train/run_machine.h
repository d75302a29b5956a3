#pragma once

#include <torch/types.h>

#include "impart/comm/communicator.h"
#include "impart/config/config.h"

namespace impart::train {

/// As many threads as the config says, or this process's share of the cores.
void set_threads(const config::RunConfig& config, const comm::Communicator& communicator);

/// Which arithmetic torch's libraries may use for floats on a GPU. They take their first guess of
/// an algorithm: to try several takes longer than it saves in a run of seconds, and may end
/// differently every time. But their guess for exact floats is bad.
void set_precision(const config::RunConfig& config);

/// Where this process computes. The GPUs of a machine go round its processes.
torch::Device choose_device(const config::RunConfig& config,
                            const comm::Communicator& communicator);

}  // namespace impart::train

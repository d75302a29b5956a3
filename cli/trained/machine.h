#pragma once

#include <chrono>
#include <memory>

#include <torch/types.h>

#include "impart/comm/communicator.h"
#include "impart/config/config.h"
#include "impart/tensors/torch_stream.h"
#include "impart/train/run_machine.h"

namespace impart::cli {

/// Where a trained model is used: the processes that were started, and this one's device, made
/// ready as the config says.
struct Machine {
  std::unique_ptr<comm::Communicator> communicator;
  torch::Device device = torch::kCPU;

  explicit Machine(const config::RunConfig& config)
      : communicator(
            comm::make_communicator({.timeout = std::chrono::seconds(config.comm.timeout)})) {
    train::set_threads(config, *communicator);
    train::set_precision(config);
    device = train::choose_device(config, *communicator);
    if (device.is_cuda()) tensors::use_device(device.index());
  }
};

}  // namespace impart::cli

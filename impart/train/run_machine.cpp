#include "impart/train/run_machine.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include <torch/torch.h>

#include "impart/comm/neighbours.h"
#include "impart/tensors/threads.h"

namespace impart::train {
namespace {

comm::Neighbours neighbours_of(const comm::Communicator& communicator) {
  return comm::find_neighbours(communicator, [](const char* name) { return std::getenv(name); });
}

bool runs_on_gpu(const config::RunConfig& config) {
  return config.device != config::RunConfig::Device::kCpu && torch::cuda::is_available();
}

}  // namespace

void set_threads(const config::RunConfig& config, const comm::Communicator& communicator) {
  const std::uint32_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::uint32_t share = std::max(1u, cores / neighbours_of(communicator).processes);
  tensors::set_threads(static_cast<int>(config.threads > 0 ? config.threads : share));
}

void set_precision(const config::RunConfig& config) {
  const bool tf32 = config.precision != config::RunConfig::Precision::kFp32;
  at::globalContext().setAllowTF32CuDNN(tf32);
  at::globalContext().setAllowTF32CuBLAS(tf32);
  at::globalContext().setBenchmarkCuDNN(!tf32);
}

torch::Device choose_device(const config::RunConfig& config,
                            const comm::Communicator& communicator) {
  if (!runs_on_gpu(config)) return torch::kCPU;
  const auto index = neighbours_of(communicator).number % torch::cuda::device_count();
  return {torch::kCUDA, static_cast<c10::DeviceIndex>(index)};
}

}  // namespace impart::train

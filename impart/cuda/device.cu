#include "impart/cuda/device.h"
#include "impart/cuda/kernel_parts.h"

namespace impart::cuda {
namespace {

__global__ void store_step(StepState* state, StepState value) {
  *state = value;
}

}  // namespace

bool has_kernels() {
  return true;
}

Stream make_stream() {
  int lowest = 0, highest = 0;
  cudaStream_t stream = nullptr;
  cudaDeviceGetStreamPriorityRange(&lowest, &highest);
  const cudaError_t error = cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, highest);
  if (error != cudaSuccess) {
    throw Error(std::string("cannot make a stream: ") + cudaGetErrorString(error));
  }
  return stream;
}

void set_step(StepState* state, const StepState& value, Stream stream) {
  store_step<<<1, 1, 0, stream>>>(state, value);
  check_launch("set_step");
}

}  // namespace impart::cuda

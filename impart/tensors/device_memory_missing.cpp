// For builds without CUDA: there is no GPU whose memory could be short.

#include "impart/tensors/device_memory.h"

namespace impart::tensors {

DeviceMemory device_memory() {
  return {};
}

void forget_memory_peak() {}

void free_kept_memory() {}

bool is_out_of_memory(const std::exception&) {
  return false;
}

}  // namespace impart::tensors

#pragma once

#include <cstdint>
#include <exception>

namespace impart::tensors {

/// Memory of the GPU that this thread uses, in bytes.
struct DeviceMemory {
  std::uint64_t used = 0;  ///< by tensors
  std::uint64_t peak = 0;  ///< the most that tensors used since forget_memory_peak
  std::uint64_t most = 0;  ///< that tensors could use: what is free, and what they have
};
DeviceMemory device_memory();
void forget_memory_peak();

/// Frees what torch keeps for tensors to come.
void free_kept_memory();

/// Whether an exception says that the GPU has not enough memory.
bool is_out_of_memory(const std::exception& error);

}  // namespace impart::tensors

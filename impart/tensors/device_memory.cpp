#include "impart/tensors/device_memory.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/util/Exception.h>

#include "impart/tensors/recording.h"

namespace impart::tensors {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;
constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);

}  // namespace

DeviceMemory device_memory() {
  const c10::DeviceIndex device = c10::cuda::current_device();
  const auto statistics = allocator::getDeviceStats(device);
  const auto& used = statistics.allocated_bytes[kAll];
  const auto& kept = statistics.reserved_bytes[kAll];
  const auto [free, total] = allocator::get()->getMemoryInfo(device);
  return {.used = static_cast<std::uint64_t>(used.current),
          .peak = static_cast<std::uint64_t>(used.peak),
          .most = free + static_cast<std::uint64_t>(kept.current)};
}

void forget_memory_peak() {
  allocator::resetPeakStats(c10::cuda::current_device());
}

void free_kept_memory() {
  const std::lock_guard lock(recording_mutex());
  allocator::emptyCache();
}

bool is_out_of_memory(const std::exception& error) {
  return dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr;
}

}  // namespace impart::tensors

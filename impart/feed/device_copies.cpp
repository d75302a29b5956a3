#include "impart/feed/device_copies.h"

#include <torch/torch.h>

#include "impart/tensors/recording.h"

namespace impart::feed {

DeviceImages DeviceCopies::get(Part part, const data::ImageSet& images, torch::Device device) {
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = copies_.try_emplace({part, device.str()});
  if (is_new) {
    found->second = put_on_device(images, device);
    // Others will read them on streams of their own, and may be recording now.
    const std::lock_guard recording(tensors::recording_mutex());
    if (device.is_cuda()) torch::cuda::synchronize(device.index());
  }
  return found->second;
}

}  // namespace impart::feed

// Device sums where the program is built without NCCL.

#include "impart/comm/device_sum.h"
#include "impart/core/error.h"

namespace impart::comm {

std::unique_ptr<DeviceSum> make_device_sum(Communicator&, DeviceSumUse use) {
  if (use == DeviceSumUse::kWherePossible) return nullptr;
  throw ConfigError("workers.transport: nccl, but this impart was built without NCCL; take auto");
}

}  // namespace impart::comm

#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <torch/types.h>

#include "impart/feed/batch.h"
#include "impart/feed/data_feed.h"

namespace impart::feed {

/// The images of one data set on devices, for runs of one process that share them. Nobody changes
/// them. May be used by several threads.
class DeviceCopies {
 public:
  /// Copies the set to the device the first time.
  DeviceImages get(Part part, const data::ImageSet& images, torch::Device device);

 private:
  std::mutex mutex_;
  std::map<std::pair<Part, std::string>, DeviceImages> copies_;  ///< by part and device
};

}  // namespace impart::feed

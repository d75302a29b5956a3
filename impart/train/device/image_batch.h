#pragma once

#include <cstdint>

#include <torch/types.h>

#include "impart/cuda/device.h"
#include "impart/feed/batch.h"

namespace impart::train {

/// Which rows of a list of visits become a batch.
struct ImageBatchSpec {
  const feed::DeviceImages* images = nullptr;
  torch::Tensor ids = {};                 ///< int64: of all rows
  torch::Tensor choices = {};             ///< as feed::DevicePlan has them
  const cuda::StepState* step = nullptr;  ///< on the device: where the batch begins
  std::int64_t rows = 0;
  bool half = false;  ///< bfloat16 instead of float
};

/// As feed::make_batch makes it, channels last, by one kernel that a record can have.
torch::Tensor make_image_batch(const ImageBatchSpec& spec);

}  // namespace impart::train

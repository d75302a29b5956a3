#pragma once

#include <memory>

#include <torch/types.h>

#include "impart/feed/feed.h"
#include "impart/feed/own_data.h"

namespace impart::feed {

/// Batches of rows of tensors, which are copied to the device whole. No host work per example, and
/// no augmentation.
std::unique_ptr<Feed> make_tensor_feed(const TensorSet& set, torch::Device device);

}  // namespace impart::feed

#pragma once

#include <cstdint>

#include <torch/types.h>

#include "impart/core/philox.h"

namespace impart::models {

struct DropoutPlan;

/// Which mask of a plan's step.
struct DeviceDropoutSpec {
  std::uint32_t layer = 0;
  std::uint32_t dropped = 0;  ///< of 65536
  float kept = 1;             ///< what an element that stays is multiplied with
};

/// A cuda::DropoutKey on a GPU, and how it is set there by work on the current stream.
torch::Tensor make_device_key(torch::Device device);
void set_device_key(torch::Tensor& key, const PhiloxKey& value);

/// Whether drop_on_device takes it.
bool has_device_dropout(const torch::Tensor& input, const DropoutPlan& plan);

/// trunk + input · mask; an undefined trunk: input · mask. Differentiable; the way back reads the
/// plan's key again, which must be that of the same step.
torch::Tensor drop_on_device(const torch::Tensor& input, const torch::Tensor& trunk,
                             const DropoutPlan& plan, const DeviceDropoutSpec& spec);

}  // namespace impart::models

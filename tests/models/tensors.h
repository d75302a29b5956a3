#pragma once

#include <cstdint>

#include <torch/types.h>

#include "impart/core/random.h"

namespace impart::testing {

/// Normal numbers times `scale` plus `shift`, the same for the same number of the stream.
inline torch::Tensor random_tensor(at::IntArrayRef shape, std::uint32_t stream, double scale = 1,
                                   double shift = 0) {
  torch::Tensor tensor = torch::empty(shape, torch::kFloat);
  RandomStream random({.seed = 7, .purpose = Purpose("test"), .epoch = stream});
  float* data = tensor.data_ptr<float>();
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    data[i] = static_cast<float>(shift + scale * random.normal());
  }
  return tensor;
}

/// ‖a - b‖ / ‖b‖, largest norm, in double.
inline double relative_distance(const torch::Tensor& a, const torch::Tensor& b) {
  if (a.sizes() != b.sizes()) return 1e300;
  if (a.numel() == 0) return 0;
  const torch::Tensor wide_b = b.detach().to(torch::kDouble);
  const torch::Tensor distance = (a.detach().to(torch::kDouble) - wide_b).abs().max();
  return distance.item<double>() / (wide_b.abs().max().item<double>() + 1e-30);
}

}  // namespace impart::testing

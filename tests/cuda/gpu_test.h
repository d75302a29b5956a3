#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/cuda/device.h"

namespace impart::testing {

/// Tests that need a GPU and a build for it; elsewhere they are skipped, and say why.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::has_kernels()) GTEST_SKIP() << "built without CUDA (IMPART_CUDA=OFF)";
    if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device can be used";
    // The references are exact floats.
    at::globalContext().setAllowTF32CuDNN(false);
    at::globalContext().setAllowTF32CuBLAS(false);
  }
};

/// ‖a - b‖ / ‖b‖ in double, on the CPU; never passes for NaN.
inline double distance(const torch::Tensor& a, const torch::Tensor& b) {
  const auto wide_a = a.detach().to(torch::kCPU, torch::kDouble);
  const auto wide_b = b.detach().to(torch::kCPU, torch::kDouble);
  if (wide_a.sizes() != wide_b.sizes()) return 1e300;
  const double result = ((wide_a - wide_b).norm() / (wide_b.norm() + 1e-30)).item<double>();
  return std::isfinite(result) ? result : 1e300;
}

}  // namespace impart::testing

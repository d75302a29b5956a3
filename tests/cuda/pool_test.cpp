#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/models/layers/max_pool.h"
#include "impart/models/layers/patch_cosines.h"
#include "tests/cuda/gpu_test.h"
#include "tests/models/tensors.h"

namespace impart {
namespace {

using testing::distance;
using testing::random_tensor;

class DevicePooling : public testing::GpuTest {};

torch::Tensor on_gpu(const torch::Tensor& tensor, torch::ScalarType type) {
  return tensor.detach().to(torch::kCUDA, type).contiguous(torch::MemoryFormat::ChannelsLast);
}

TEST_F(DevicePooling, IsTorchs) {
  for (const auto& [size, window] : {std::pair{8, 2}, std::pair{9, 2}, std::pair{4, 4}}) {
    for (const auto type : {torch::kFloat, torch::kBFloat16}) {
      SCOPED_TRACE(std::to_string(size) + " " + c10::toString(type));
      // Whole numbers: many are equal, and the first of them counts.
      const auto x = random_tensor({3, 24, size, size}, 1, 4).round().requires_grad_(true);
      const auto y = torch::max_pool2d(x, window);
      const auto grad = random_tensor(y.sizes(), 2).round();
      y.backward(grad);
      const auto there = on_gpu(x, type).requires_grad_(true);
      const auto found = models::max_pool(there, window);
      found.backward(on_gpu(grad, type));
      EXPECT_TRUE(torch::equal(found.detach().cpu().to(torch::kFloat), y.detach()));
      EXPECT_TRUE(torch::equal(there.grad().cpu().to(torch::kFloat), x.grad()));
    }
  }
}

TEST_F(DevicePooling, CosinesOfPatchesAreThoseOfTheCpu) {
  for (const std::int64_t channels : {3, 1}) {
    models::PatchCosines here(channels), there(channels);
    const auto images = random_tensor({5, channels, 32, 20}, 3);
    const auto expected = here.forward(images);
    EXPECT_LT(distance(there.forward(on_gpu(images, torch::kFloat)), expected), 1e-6);
    EXPECT_LT(distance(there.forward(on_gpu(images, torch::kBFloat16)), expected), 1e-2);
  }
}

}  // namespace
}  // namespace impart

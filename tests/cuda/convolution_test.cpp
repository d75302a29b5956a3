#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/models/layers/device_convolution.h"
#include "impart/train/device/step_graph.h"
#include "tests/cuda/gpu_test.h"
#include "tests/models/tensors.h"

namespace impart {
namespace {

using testing::distance;
using testing::random_tensor;

class DeviceConvolutions : public testing::GpuTest {};

struct ConvolutionCase {
  const char* name;
  models::ConvolutionSpec spec;
  std::int64_t size;
};

const ConvolutionCase kConvolutionCases[] = {
    {"folded", {.in = 3, .out = 64, .kernel = 7, .stride = 2}, 32},
    {"folded, one channel", {.in = 1, .out = 64, .kernel = 7, .stride = 2}, 28},
    {"middle tap", {.in = 64, .out = 128, .kernel = 3}, 1},
    {"middle tap, stride 2", {.in = 64, .out = 128, .kernel = 3, .stride = 2}, 1},
    {"plain", {.in = 64, .out = 64, .kernel = 3}, 8},
    {"plain, stride 2", {.in = 64, .out = 128, .kernel = 3, .stride = 2}, 8},
    {"one by one", {.in = 64, .out = 128, .kernel = 1, .stride = 2}, 8},
};

TEST_F(DeviceConvolutions, AreTheConvolution) {
  train::leave_default_stream();
  tensors::SideStream side;
  for (const ConvolutionCase& c : kConvolutionCases) {
    for (const auto type : {torch::kFloat, torch::kBFloat16}) {
      SCOPED_TRACE(std::string(c.name) + " " + c10::toString(type));
      const models::ConvolutionSpec& spec = c.spec;
      const auto rounded = [&](const torch::Tensor& t) { return t.to(type).to(torch::kDouble); };
      const auto x = rounded(random_tensor({6, spec.in, c.size, c.size}, 1)).requires_grad_(true);
      const auto w = rounded(random_tensor({spec.out, spec.in, spec.kernel, spec.kernel}, 2, 0.1))
                         .requires_grad_(true);
      const auto y = torch::conv2d(x, w, {}, spec.stride, spec.kernel / 2);
      const auto grad = rounded(random_tensor(y.sizes(), 3));
      y.backward(grad);

      const auto there = [&](const torch::Tensor& t) {
        return t.detach()
            .to(torch::kCUDA, type)
            .contiguous(torch::MemoryFormat::ChannelsLast)
            .requires_grad_(true);
      };
      const bool needs_images = spec.kernel != 7;  // images themselves need no gradient
      const auto images = there(x).set_requires_grad(needs_images), weight = there(w);
      const auto found = models::convolve_on_device(images, weight, spec, side);
      found.backward(grad.to(torch::kCUDA, type));
      side.join();
      const double tolerance = type == torch::kFloat ? 1e-5 : 5e-3;
      EXPECT_LT(distance(found, y), tolerance);
      EXPECT_LT(distance(weight.grad(), w.grad()), tolerance);
      if (needs_images) {
        EXPECT_LT(distance(images.grad(), x.grad()), tolerance);
      }
    }
  }
}

}  // namespace
}  // namespace impart

#include "impart/models/layers/small_convolution.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/models/tensors.h"

namespace impart::models {
namespace {

using testing::random_tensor;
using testing::relative_distance;

struct SmallCase {
  std::int64_t height, width, stride;
};
constexpr SmallCase kSmallCases[] = {{1, 1, 1}, {1, 1, 2}, {2, 2, 1}, {2, 2, 2},
                                     {1, 2, 1}, {2, 1, 1}, {2, 1, 2}};
constexpr ConvolutionSpec kNarrow{.in = 5, .out = 7, .kernel = 3};

TEST(SmallConvolution, IsTorchsConvolution) {
  for (const SmallCase& c : kSmallCases) {
    SCOPED_TRACE(::testing::Message() << c.height << " x " << c.width << ", stride " << c.stride);
    ConvolutionSpec spec = kNarrow;
    spec.stride = c.stride;
    const torch::Tensor images = random_tensor({6, spec.in, c.height, c.width}, 1)
                                     .contiguous(torch::MemoryFormat::ChannelsLast);
    const torch::Tensor weight = random_tensor({spec.out, spec.in, 3, 3}, 2);
    ASSERT_TRUE(is_small_convolution(images, spec));
    const auto differentiate = [&](const auto& convolve) {
      const torch::Tensor x = images.clone().requires_grad_(true);
      const torch::Tensor w = weight.clone().requires_grad_(true);
      const torch::Tensor y = convolve(x, w);
      y.backward(random_tensor(y.sizes(), 3));
      return std::vector<torch::Tensor>{y.detach(), x.grad(), w.grad()};
    };
    const auto found =
        differentiate([&](const auto& x, const auto& w) { return convolve_small(x, w, spec); });
    const auto expected = differentiate([&](const auto& x, const auto& w) {
      return torch::conv2d(x, w, /*bias=*/{}, spec.stride, /*padding=*/1);
    });
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_LT(relative_distance(found[i], expected[i]), 1e-5) << i;
    }
    EXPECT_TRUE(found[0].is_contiguous(torch::MemoryFormat::ChannelsLast));
  }
}

TEST(SmallConvolution, IsNotThatOfLargerImagesOrOtherKernels) {
  EXPECT_FALSE(is_small_convolution(torch::zeros({2, 5, 3, 2}), kNarrow));
  EXPECT_FALSE(is_small_convolution(torch::zeros({2, 5, 2, 3}), kNarrow));
  EXPECT_FALSE(is_small_convolution(torch::zeros({0, 5, 2, 2}), kNarrow));
  EXPECT_FALSE(is_small_convolution(torch::zeros({2, 5, 1, 1}), {.in = 5, .out = 7, .kernel = 1}));
}

}  // namespace
}  // namespace impart::models

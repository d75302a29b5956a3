#include "impart/models/layers/gelu.h"

#include <cmath>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/models/tensors.h"

namespace impart::models {
namespace {

using testing::random_tensor;
using testing::relative_distance;

torch::Tensor gelu_by_definition(const torch::Tensor& x) {
  return 0.5 * x * (1 + torch::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x.pow(3))));
}

TEST(Gelu, IsItsDefinitionForAnySize) {
  for (const std::int64_t size : {0, 1, 15, 16, 17, 33, 100003}) {
    const torch::Tensor x = random_tensor({size}, 1, 3).requires_grad_(true);
    const torch::Tensor wide = x.detach().to(torch::kDouble).requires_grad_(true);
    const torch::Tensor weights = random_tensor({size}, 2);
    const torch::Tensor ours = tanh_gelu(x), expected = gelu_by_definition(wide);
    (ours * weights).sum().backward();
    (expected * weights).sum().backward();
    EXPECT_LT(relative_distance(ours, expected), 1e-6) << size;
    EXPECT_LT(relative_distance(x.grad(), wide.grad()), 4e-6) << size;
  }
}

TEST(Gelu, StaysFiniteFarFromZero) {
  const torch::Tensor x = torch::tensor({-1e4f, -100.f, -12.f, 12.f, 100.f, 1e4f});
  const torch::Tensor expected = torch::tensor({0.f, 0.f, 0.f, 12.f, 100.f, 1e4f});
  EXPECT_TRUE(torch::allclose(tanh_gelu(x), expected, 1e-6, 1e-20));
  const torch::Tensor leaf = x.clone().requires_grad_(true);
  tanh_gelu(leaf).sum().backward();
  EXPECT_TRUE(torch::allclose(leaf.grad(), torch::tensor({0.f, 0.f, 0.f, 1.f, 1.f, 1.f})));
}

TEST(Gelu, PassesNotANumberOn) {
  EXPECT_TRUE(tanh_gelu(torch::full({40}, NAN)).isnan().all().item<bool>());
}

}  // namespace
}  // namespace impart::models

#include "impart/models/losses.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/models/tensors.h"
#include "tests/models/text/cases.h"

namespace impart::models {
namespace {

using testing::random_tensor;
using testing::random_tokens;

TEST(Losses, OfBlocksAreMeansOverTheirTargets) {
  const torch::Tensor logits = random_tensor({3, 5, 7}, 1);
  torch::Tensor targets = random_tokens({3, 5}, 7, 2);
  targets[1].narrow(0, 2, 3).fill_(kNoTarget);
  targets[2].fill_(kNoTarget);
  const torch::Tensor losses = example_losses(logits, targets);
  const torch::Tensor tokens = token_losses(logits, targets);
  const torch::Tensor log_p = torch::log_softmax(logits, 2);
  for (std::int64_t b = 0; b < 2; ++b) {
    double sum = 0;
    const std::int64_t count = b == 0 ? 5 : 2;
    for (std::int64_t t = 0; t < count; ++t) {
      const double loss = -log_p[b][t][targets[b][t]].item<double>();
      EXPECT_NEAR(tokens[b][t].item<double>(), loss, 1e-6);
      sum += loss;
    }
    EXPECT_NEAR(losses[b].item<double>(), sum / static_cast<double>(count), 1e-6);
  }
  EXPECT_EQ(losses[2].item<double>(), 0);
  EXPECT_EQ(tokens[1][3].item<double>(), 0);
}

TEST(Losses, OfClassesAreCrossEntropy) {
  const torch::Tensor logits = random_tensor({6, 4}, 1), labels = random_tokens({6}, 4, 2);
  const torch::Tensor expected =
      -torch::log_softmax(logits, 1).gather(1, labels.unsqueeze(1)).squeeze(1);
  EXPECT_TRUE(torch::allclose(example_losses(logits, labels), expected));
}

TEST(Losses, OfSmoothedLabelsAreTorchsOwn) {
  const auto options =
      torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kNone).label_smoothing(0.2);
  const torch::Tensor logits = random_tensor({6, 4}, 1).requires_grad_(true);
  const torch::Tensor twin = logits.detach().clone().requires_grad_(true);
  const torch::Tensor labels = random_tokens({6}, 4, 2);
  const torch::Tensor smoothed = smooth_losses(example_losses(logits, labels), logits, labels, 0.2);
  const torch::Tensor expected = torch::nn::functional::cross_entropy(twin, labels, options);
  EXPECT_TRUE(torch::allclose(smoothed, expected));
  smoothed.square().sum().backward();
  expected.square().sum().backward();
  EXPECT_TRUE(torch::allclose(logits.grad(), twin.grad(), 1e-4, 1e-6));
}

TEST(Losses, OfSmoothedBlocksCountOnlyTokensWithTarget) {
  const torch::Tensor logits = random_tensor({2, 3, 5}, 1);
  torch::Tensor targets = random_tokens({2, 3}, 5, 2);
  targets[1].narrow(0, 1, 2).fill_(kNoTarget);
  const torch::Tensor losses = smooth_losses(example_losses(logits, targets), logits, targets, 0.3);
  const torch::Tensor first = logits[1].narrow(0, 0, 1), label = targets[1].narrow(0, 0, 1);
  EXPECT_TRUE(torch::allclose(losses[1],
                              smooth_losses(example_losses(first, label), first, label, 0.3)[0]));
}

TEST(Losses, PassNoGradientToTokensWithoutTarget) {
  const torch::Tensor logits = random_tensor({2, 3, 4}, 1).requires_grad_(true);
  torch::Tensor targets = random_tokens({2, 3}, 4, 2);
  targets[0][1] = kNoTarget;
  example_losses(logits, targets).sum().backward();
  EXPECT_EQ(logits.grad()[0][1].abs().sum().item<float>(), 0);
  EXPECT_GT(logits.grad()[0][2].abs().sum().item<float>(), 0);
}

}  // namespace
}  // namespace impart::models

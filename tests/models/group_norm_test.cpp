#include "impart/models/layers/group_norm.h"

#include <cstdint>
#include <utility>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/config/model_names.h"
#include "impart/models/classifier.h"
#include "impart/models/images/models.h"
#include "impart/models/layers/worker_statistics.h"
#include "impart/models/module_tree.h"
#include "tests/models/tensors.h"

namespace impart::models {
namespace {

using testing::random_tensor;
using testing::relative_distance;

TEST(GroupNorm, HasThirtyTwoGroupsWhereEachGetsTwoChannels) {
  EXPECT_EQ(count_groups(512), 32);
  EXPECT_EQ(count_groups(64), 32);
  EXPECT_EQ(count_groups(384), 32);
  EXPECT_EQ(count_groups(32), 16);
  EXPECT_EQ(count_groups(12), 2);
  EXPECT_EQ(count_groups(2), 1);
  EXPECT_EQ(count_groups(7), 1);
}

TEST(GroupNorm, IsTorchsWithTheTailBehindIt) {
  const torch::Tensor residual = random_tensor({3, 12, 5, 6}, 4);
  const NormTail tails[] = {
      {}, {.relu = true}, {.relu = true, .residual = residual}, {.relu = true, .pool = true}};
  for (const NormTail& tail : tails) {
    const torch::Tensor x = random_tensor({3, 12, 5, 6}, 1, 2, 5).requires_grad_(true);
    GroupNormImpl ours(12);
    torch::nn::GroupNorm theirs(torch::nn::GroupNormOptions(2, 12));
    {
      const torch::NoGradGuard no_grad;
      ours.weight.copy_(random_tensor({12}, 2));
      ours.bias.copy_(random_tensor({12}, 3));
      theirs->weight.copy_(ours.weight);
      theirs->bias.copy_(ours.bias);
    }
    torch::Tensor expected = theirs->forward(x);
    if (tail.residual.defined()) expected = expected + tail.residual;
    if (tail.relu) expected = expected.relu();
    if (tail.pool) expected = torch::max_pool2d(expected, 3, 2, 1);
    const TensorFork found = ours.forward_twice(x, tail);
    EXPECT_LT(relative_distance(found.first, expected), 1e-6);
    const torch::Tensor grad = random_tensor(expected.sizes(), 5);
    const auto ours_by_x = torch::autograd::grad({(found.first + found.second) / 2},
                                                 {x, ours.weight, ours.bias}, {grad});
    const auto theirs_by_x =
        torch::autograd::grad({expected}, {x, theirs->weight, theirs->bias}, {grad});
    for (std::size_t i = 0; i < ours_by_x.size(); ++i) {
      EXPECT_LT(relative_distance(ours_by_x[i], theirs_by_x[i]), 1e-5);
    }
  }
}

TEST(GroupNorm, DoesNotNoticeTheOtherImages) {
  GroupNormImpl norm(8);
  const torch::Tensor x = random_tensor({4, 8, 3, 3}, 1);
  EXPECT_TRUE(torch::equal(norm.forward(x)[2], norm.forward(x.narrow(0, 2, 1))[0]));
}

std::shared_ptr<Classifier> make(const config::ModelName& row, config::Norm norm) {
  auto model = find_entry(kModels, "model", row.name)
                   .function({.classes = 3, .image_size = 8, .stem = Stem::kCifar, .norm = norm});
  const torch::NoGradGuard no_grad;
  torch::manual_seed(1);
  for (torch::Tensor& parameter : model->parameters()) {
    if (parameter.dim() > 1) parameter.normal_(0, 0.05);
  }
  return model;
}

/// How many norms there are, and the channels of all of them.
std::pair<std::uint32_t, std::uint32_t> count_norms(torch::nn::Module& model) {
  std::uint32_t norms = 0, channels = 0;
  visit_modules(model, [&](const std::string&, torch::nn::Module& module) {
    if (auto* norm = dynamic_cast<NormLayer*>(&module)) {
      ++norms;
      channels += static_cast<std::uint32_t>(norm->named_parameters()["weight"].numel());
    }
  });
  return {norms, channels};
}

TEST(GroupNorm, TakesThePlaceOfBatchNormInEveryModelThatHasSome) {
  for (const config::ModelName& row : config::kModelNames) {
    if (row.input != data::Input::kImages) continue;
    SCOPED_TRACE(row.name);
    auto batch = make(row, config::Norm::kBatch), group = make(row, config::Norm::kGroup);
    EXPECT_EQ(count_norms(*batch), std::pair(row.norms, row.norm_channels));
    EXPECT_EQ(count_norms(*group), std::pair(row.norms, row.norm_channels));
    EXPECT_TRUE(group->buffers().empty());
    EXPECT_EQ(batch->named_parameters().keys(), group->named_parameters().keys());
    const torch::Tensor images = random_tensor({2, 3, 8, 8}, 1);
    group->forward(images).logits.pow(2).sum().backward();
    for (const auto& item : group->named_parameters()) {
      EXPECT_GT(item.value().grad().abs().sum().item<float>(), 0) << item.key();
    }
    group->eval();
    const torch::Tensor evaluated = group->forward(images).logits;
    group->train();
    EXPECT_TRUE(torch::equal(group->forward(images).logits, evaluated));
  }
}

}  // namespace
}  // namespace impart::models

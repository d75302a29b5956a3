#include "impart/models/images/models.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/core/error.h"
#include "impart/models/classifier.h"
#include "impart/models/init.h"
#include "impart/models/layers/patch_cosines.h"
#include "impart/models/module_tree.h"
#include "tests/models/tensors.h"

namespace impart::models {
namespace {

using testing::random_tensor;
using testing::relative_distance;

std::int64_t count_parameters(const Classifier& model) {
  std::int64_t count = 0;
  for (const auto& parameter : model.parameters()) count += parameter.numel();
  return count;
}

class EveryModel : public ::testing::TestWithParam<Entry<ModelFactory>> {};

TEST_P(EveryModel, GivesOneLogitPerClassFromItsLastLinearLayer) {
  for (const Stem stem : {Stem::kImagenet, Stem::kCifar}) {
    const ModelSpec spec{.classes = 7, .channels = 2, .image_size = 16, .stem = stem};
    auto model = GetParam().function(spec);
    initialise_parameters(*model, 1);
    const auto [logits, features] = model->forward(random_tensor({3, 2, 16, 16}, 1));
    EXPECT_EQ(logits.sizes(), (std::vector<std::int64_t>{3, 7}));
    const auto parameters = model->named_parameters();
    const torch::Tensor again =
        torch::linear(features, parameters["fc.weight"], parameters["fc.bias"]);
    EXPECT_LT(relative_distance(again, logits), 1e-6);
    EXPECT_GT(logits.abs().max().item<float>(), 0);
  }
}

TEST_P(EveryModel, PassesAGradientToEveryParameter) {
  auto model = GetParam().function({.classes = 3, .image_size = 16});
  initialise_parameters(*model, 1);
  model->forward(random_tensor({4, 3, 16, 16}, 1)).logits.pow(2).sum().backward();
  for (const auto& item : model->named_parameters()) {
    EXPECT_TRUE(item.value().grad().defined()) << item.key();
    EXPECT_GT(item.value().grad().abs().sum().item<float>(), 0) << item.key();
  }
}

TEST_P(EveryModel, IsDrawnFromTheSeedAlone) {
  const auto draw = [&](std::uint64_t seed) {
    torch::manual_seed(seed + 17);
    auto model = GetParam().function({});
    initialise_parameters(*model, seed);
    return model->parameters();
  };
  const auto first = draw(1), again = draw(1), other = draw(2);
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(torch::equal(first[i], again[i]));
  EXPECT_FALSE(torch::equal(first[first.size() - 2], other[first.size() - 2]));  // fc.weight
}

TEST_P(EveryModel, RefusesASpecWithoutClasses) {
  EXPECT_THROW(GetParam().function({.classes = 0}), ConfigError);
  EXPECT_THROW(GetParam().function({.channels = -1}), ConfigError);
}

TEST_P(EveryModel, ListsItsStateInTheOrderOfItsParameters) {
  auto model = GetParam().function({});
  std::vector<std::string> names;
  for (const auto& [name, tensor] : state_of(*model)) {
    if (tensor.requires_grad()) names.push_back(name);
  }
  EXPECT_EQ(names, model->named_parameters().keys());
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModel, ::testing::ValuesIn(kModels), [](const auto& row) {
  std::string name(row.param.name);
  std::erase(name, '-');
  return name;
});

TEST(Models, HaveAsManyParametersAsPublished) {
  EXPECT_EQ(count_parameters(*make_resnet18({.classes = 1000})), 11689512);
  EXPECT_EQ(count_parameters(*make_resnet34({.classes = 1000})), 21797672);
  EXPECT_EQ(count_parameters(*make_resnet50({.classes = 1000})), 25557032);
  EXPECT_EQ(count_parameters(*make_small_cnn({})), 94762);
}

TEST(Models, HaveTheStemOfTheirSpec) {
  const auto shape = [](Stem stem) {
    auto model = make_resnet18({.channels = 3, .stem = stem});
    return model->named_parameters()["conv1.weight"].sizes().vec();
  };
  EXPECT_EQ(shape(Stem::kImagenet), (std::vector<std::int64_t>{64, 3, 7, 7}));
  EXPECT_EQ(shape(Stem::kCifar), (std::vector<std::int64_t>{64, 3, 3, 3}));
}

TEST(Initialise, DrawsTheDistributionsOfTorchvision) {
  auto model = make_resnet18({});
  initialise_parameters(*model, 3);
  const auto parameters = model->named_parameters();
  const torch::Tensor convolution = parameters["layer4.1.conv2.weight"];
  const double deviation = std::sqrt(2.0 / (512 * 9));
  EXPECT_NEAR(convolution.mean().item<double>(), 0, 4 * deviation / 1536);
  EXPECT_NEAR(convolution.std().item<double>() / deviation, 1, 0.003);
  const torch::Tensor kurtosis = (convolution / deviation).pow(4).mean();
  EXPECT_NEAR(kurtosis.item<double>(), 3, 0.03);
  const double bound = 1 / std::sqrt(512.0);
  for (const char* name : {"fc.weight", "fc.bias"}) {
    EXPECT_LE(parameters[name].abs().max().item<double>(), bound);
    EXPECT_GT(parameters[name].abs().max().item<double>(), 0.6 * bound);
  }
  EXPECT_NEAR(parameters["fc.weight"].std().item<double>(), bound / std::sqrt(3.0), 0.02 * bound);
  EXPECT_TRUE(torch::equal(parameters["bn1.weight"], torch::ones({64})));
  EXPECT_TRUE(torch::equal(parameters["bn1.bias"], torch::zeros({64})));
}

TEST(Initialise, DrawsParameterIFromStreamI) {
  auto model = make_mlp({.classes = 2, .image_size = 2});
  initialise_parameters(*model, 11);
  RandomStream random({.seed = 11, .purpose = Purpose("init"), .epoch = 2});  // fc2.weight
  const torch::Tensor weight = model->named_parameters()["fc2.weight"].flatten();
  for (std::int64_t i = 0; i < 5; ++i) {
    const double expected = (2 * random.uniform() - 1) / std::sqrt(256.0);
    EXPECT_EQ(weight[i].item<float>(), static_cast<float>(expected));
  }
}

/// What the layer does to a patch that is 1 in one place: its filters, [responses, 3, 3, 3].
torch::Tensor filters_of(PatchCosines& patches, std::int64_t channels) {
  const torch::Tensor images = torch::eye(9 * channels).view({-1, channels, 3, 3});
  const torch::Tensor middle = patches.forward(images).select(2, 1).select(2, 1);
  return middle.t().reshape({-1, channels, 3, 3});
}

TEST(PatchCosinesTest, SplitPatchesIntoOrthogonalParts) {
  PatchCosines patches(3);
  const torch::Tensor responses = filters_of(patches, 3).flatten(1);
  EXPECT_GE(responses.min().item<float>(), 0);
  const torch::Tensor filters = responses.slice(0, 0, {}, 2) - responses.slice(0, 1, {}, 2);
  const torch::Tensor lengths = filters.norm(2, 1, /*keepdim=*/true);
  const torch::Tensor unit = filters / lengths;
  EXPECT_LT(relative_distance(unit.matmul(unit.t()), torch::eye(unit.size(0))), 1e-6);
  // Brightness first, then what photos have less and less of, the more strongly amplified.
  EXPECT_LT(relative_distance(unit[0], torch::full({27}, 1 / std::sqrt(27.0))), 1e-6);
  EXPECT_GE((lengths.slice(0, 1) - lengths.slice(0, 0, -1)).min().item<float>(), 0);
}

TEST(PatchCosinesTest, TakeGreyImages) {
  PatchCosines patches(1);
  EXPECT_EQ(patches.forward(torch::ones({2, 1, 5, 7})).sizes(),
            (std::vector<std::int64_t>{2, patches.responses(), 5, 7}));
  EXPECT_EQ(patches.responses(), 16);
}

TEST(Initialise, LetsLaterFiltersOfTheFastNetPassOnWhatTheyGet) {
  auto model = make_fast_cnn({});
  initialise_parameters(*model, 11);
  const torch::Tensor weight = model->named_parameters()["conv1.weight"].detach();
  const std::int64_t in = weight.size(1);
  const torch::Tensor images = random_tensor({2, in, 5, 5}, 3);
  const torch::Tensor result = torch::conv2d(images, weight, {}, 1, 1);
  EXPECT_TRUE(torch::equal(result.slice(1, 0, in), images));
  const torch::Tensor rest = weight.slice(0, in);
  const double deviation = std::sqrt(2.0 / (9.0 * static_cast<double>(weight.size(0))));
  EXPECT_NEAR(rest.std().item<double>() / deviation, 1, 0.05);
}

TEST(Initialise, RefusesAParameterItHasNoRuleFor) {
  struct Odd : torch::nn::Module {
    Odd() { register_parameter("temperature", torch::zeros({1})); }
  } odd;
  EXPECT_THROW(initialise_parameters(odd, 1), Error);
}

}  // namespace
}  // namespace impart::models

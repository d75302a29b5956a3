#include "impart/models/text/text_models.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/torch.h>
#include <unistd.h>

#include "impart/core/error.h"
#include "impart/models/classifier.h"
#include "impart/models/init.h"
#include "impart/models/losses.h"
#include "impart/models/module_tree.h"
#include "impart/models/state.h"
#include "tests/models/tensors.h"
#include "tests/models/text/cases.h"

namespace impart::models {
namespace {

using testing::random_tokens;
using testing::relative_distance;

constexpr TextModelSpec kSmallSpec{.vocabulary = 97, .length = 40, .classes = 5};

/// The tensor of the model's last linear layer.
torch::Tensor head_of(torch::nn::Module& model) {
  const auto parameters = model.named_parameters();
  for (const char* name : {"lm_head.weight", "head.weight", "fc.weight", "transformer.wte.weight",
                           "embedding.weight"}) {
    if (parameters.contains(name)) return parameters[name];
  }
  throw Error("no head");
}

class EveryTextModel : public ::testing::TestWithParam<TextModelEntry> {
 protected:
  bool is_language() const { return testing::is_language_model(GetParam().name); }
  std::int64_t outputs() const {
    return is_language() ? kSmallSpec.vocabulary : kSmallSpec.classes;
  }

  std::shared_ptr<Classifier> make(std::uint64_t seed, TextModelSpec spec = kSmallSpec) const {
    auto model = GetParam().function(spec);
    initialise_parameters(*model, seed);
    return model;
  }
  torch::Tensor targets(const torch::Tensor& ids) const {
    return is_language() ? ids.roll(-1, 1) : ids.select(1, 0).remainder(kSmallSpec.classes);
  }
};

TEST_P(EveryTextModel, GivesLogitsFromItsLastLinearLayer) {
  for (const bool tied : {true, false}) {
    TextModelSpec spec = kSmallSpec;
    spec.tied = tied;
    auto model = make(1, spec);
    const auto [logits, features] = model->forward(random_tokens({3, 40}, 97, 1));
    const auto expected = is_language() ? std::vector<std::int64_t>{3, 40, 97}
                                        : std::vector<std::int64_t>{3, kSmallSpec.classes};
    EXPECT_EQ(logits.sizes(), expected);
    torch::Tensor again = torch::linear(features, head_of(*model));
    if (!is_language()) again = again + model->named_parameters()["fc.bias"];
    EXPECT_LT(relative_distance(again, logits), 1e-5);
  }
}

TEST_P(EveryTextModel, StartsFromALossOfAllEquallyLikely) {
  auto model = make(3);
  const torch::Tensor ids = random_tokens({16, 40}, 97, 1);
  const torch::Tensor losses = example_losses(model->forward(ids).logits, targets(ids));
  EXPECT_NEAR(losses.mean().item<double>(), std::log(static_cast<double>(outputs())), 0.1);
}

TEST_P(EveryTextModel, PassesAGradientToEveryParameter) {
  for (const bool tied : {true, false}) {
    TextModelSpec spec = kSmallSpec;
    spec.tied = tied;
    auto model = make(1, spec);
    const torch::Tensor ids = random_tokens({4, 40}, 97, 1);
    example_losses(model->forward(ids).logits, targets(ids)).sum().backward();
    for (const auto& item : model->named_parameters()) {
      ASSERT_TRUE(item.value().grad().defined()) << item.key();
      EXPECT_GT(item.value().grad().abs().sum().item<float>(), 0) << item.key();
    }
  }
}

TEST_P(EveryTextModel, IsDrawnFromTheSeedAlone) {
  torch::manual_seed(1);
  const auto first = make(1)->parameters();
  torch::manual_seed(2);
  const auto again = make(1)->parameters(), other = make(2)->parameters();
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(torch::equal(first[i], again[i]));
  EXPECT_FALSE(torch::equal(first[0], other[0]));
}

TEST_P(EveryTextModel, ComesBackAsItWasSaved) {
  const auto path = (std::filesystem::temp_directory_path() /
                     fmt::format("impart-text-{}-{}.safetensors", GetParam().name, ::getpid()))
                        .string();
  auto saved = make(3), loaded = make(4);
  save_model(path, *saved);
  load_model(path, *loaded);
  const auto expected = state_of(*saved), actual = state_of(*loaded);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(torch::equal(actual[i].tensor, expected[i].tensor)) << expected[i].name;
  }
  auto larger = GetParam().function({.vocabulary = 98, .length = 40, .classes = 5});
  EXPECT_THROW(load_model(path, *larger), DataError);
  std::filesystem::remove(path);
}

TEST_P(EveryTextModel, HoldsNothingButParameters) {
  TextModelSpec spec = kSmallSpec;
  spec.dropout = 0.1;
  auto model = make(1, spec);
  EXPECT_TRUE(model->buffers().empty());
  std::vector<std::string> names;
  for (const auto& [name, tensor] : state_of(*model)) names.push_back(name);
  EXPECT_EQ(names, model->named_parameters().keys());
}

TEST_P(EveryTextModel, RefusesASpecThatMakesNoSense) {
  const auto make = GetParam().function;
  EXPECT_THROW(make({.vocabulary = 0}), ConfigError);
  EXPECT_THROW(make({.length = -1}), ConfigError);
  EXPECT_THROW(make({.classes = 0}), ConfigError);
  EXPECT_THROW(make({.vocabulary = 10, .pad = 10}), ConfigError);
  EXPECT_THROW(make({.dropout = 1}), ConfigError);
}

TEST_P(EveryTextModel, RefusesTokensOutsideItsVocabularyAndLength) {
  auto model = make(1);
  torch::Tensor ids = random_tokens({2, 40}, 97, 1);
  EXPECT_THROW(model->forward(torch::zeros({2, 41}, torch::kLong)), ConfigError);
  EXPECT_THROW(model->forward(torch::zeros({2}, torch::kLong)), ConfigError);
  EXPECT_THROW(model->forward(torch::zeros({2, 4}, torch::kInt)), ConfigError);
  ids[1][7] = 97;
  try {
    model->forward(ids);
    FAIL() << "no error";
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "row 1 of a batch, position 7: token 97 in a vocabulary of 97");
  }
  ids[1][7] = -1;
  EXPECT_THROW(model->forward(ids), DataError);
}

TEST_P(EveryTextModel, DoesNotSeePaddingIfItClassifies) {
  if (is_language()) GTEST_SKIP() << "language models have no padding";
  TextModelSpec spec = kSmallSpec;
  spec.pad = 3;
  auto model = make(5, spec);
  const torch::NoGradGuard no_grad;
  torch::Tensor ids = random_tokens({4, 12}, 97, 1, /*first=*/4);
  ids[2].narrow(0, 5, 7).fill_(3);
  ids[3].fill_(3);
  const torch::Tensor logits = model->forward(ids).logits;
  const torch::Tensor wide = torch::cat({ids, torch::full({4, 28}, 3, torch::kLong)}, 1);
  EXPECT_LT(relative_distance(model->forward(wide).logits, logits), 1e-6);
  const torch::Tensor alone = model->forward(ids.narrow(0, 2, 1).narrow(1, 0, 5)).logits;
  EXPECT_LT(relative_distance(alone[0], logits[2]), 1e-6);
  EXPECT_TRUE(logits.isfinite().all().item<bool>());
  torch::Tensor other = ids.clone();
  other[2][4] = 50 + ids[2][4] % 40;
  EXPECT_GT(relative_distance(model->forward(other).logits[2], logits[2]), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Models, EveryTextModel, ::testing::ValuesIn(testing::small_text_models()),
                         testing::test_name);

}  // namespace
}  // namespace impart::models

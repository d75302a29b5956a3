#include <cmath>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/models/classifier.h"
#include "impart/models/init.h"
#include "impart/models/losses.h"
#include "impart/models/module_tree.h"
#include "impart/models/text/text_models.h"
#include "tests/models/text/cases.h"

namespace impart::models {
namespace {

using testing::random_tokens;
using Shape = std::vector<std::int64_t>;

struct PublishedTensor {
  std::string name;
  Shape shape;
};

/// GPT2LMHeadModel(GPT2Config()).state_dict() in the order of Hugging Face's transformers 4.40,
/// less lm_head.weight, which is wte.weight and not written to safetensors.
std::vector<PublishedTensor> published_gpt2_small() {
  std::vector<PublishedTensor> tensors = {{"transformer.wte.weight", {50257, 768}},
                                          {"transformer.wpe.weight", {1024, 768}}};
  for (int layer = 0; layer < 12; ++layer) {
    const std::string prefix = fmt::format("transformer.h.{}.", layer);
    for (const auto& [name, shape] : std::vector<PublishedTensor>{
             {"ln_1.weight", {768}},
             {"ln_1.bias", {768}},
             {"attn.c_attn.weight", {768, 2304}},
             {"attn.c_attn.bias", {2304}},
             {"attn.c_proj.weight", {768, 768}},
             {"attn.c_proj.bias", {768}},
             {"ln_2.weight", {768}},
             {"ln_2.bias", {768}},
             {"mlp.c_fc.weight", {768, 3072}},
             {"mlp.c_fc.bias", {3072}},
             {"mlp.c_proj.weight", {3072, 768}},
             {"mlp.c_proj.bias", {768}},
         }) {
      tensors.push_back({prefix + name, shape});
    }
  }
  tensors.push_back({"transformer.ln_f.weight", {768}});
  tensors.push_back({"transformer.ln_f.bias", {768}});
  return tensors;
}

TEST(Gpt, HasTheNamesAndShapesOfHuggingFacesGpt2) {
  auto model = make_gpt2_small({.vocabulary = 50257, .length = 1024, .dropout = 0.1});
  const auto expected = published_gpt2_small();
  const auto state = state_of(*model);
  ASSERT_EQ(state.size(), expected.size());
  std::int64_t parameters = 0;
  for (std::size_t i = 0; i < state.size(); ++i) {
    EXPECT_EQ(state[i].name, expected[i].name);
    EXPECT_EQ(state[i].tensor.sizes(), expected[i].shape) << expected[i].name;
    parameters += state[i].tensor.numel();
  }
  EXPECT_EQ(parameters, 124439808);
}

TEST(Gpt, HasAHeadOfItsOwnIfItIsNotTied) {
  auto model = make_gpt_tiny({.vocabulary = 40, .tied = false});
  const auto state = state_of(*model);
  EXPECT_EQ(state.back().name, "lm_head.weight");
  EXPECT_EQ(state.back().tensor.sizes(), (Shape{40, 128}));
}

TEST(Gpt, IsInitialisedAsGpt2) {
  auto model = make_gpt_mini({.vocabulary = 300});
  initialise_parameters(*model, 5);
  const auto parameters = model->named_parameters();
  const double residual = 0.02 / std::sqrt(12.0);
  const std::map<std::string, double> deviations = {
      {"transformer.wte.weight", 0.02},
      {"transformer.wpe.weight", 0.02},
      {"transformer.h.3.attn.c_attn.weight", 0.02},
      {"transformer.h.3.mlp.c_fc.weight", 0.02},
      {"transformer.h.3.attn.c_proj.weight", residual},
      {"transformer.h.3.mlp.c_proj.weight", residual}};
  for (const auto& [name, deviation] : deviations) {
    EXPECT_NEAR(parameters[name].std().item<double>() / deviation, 1, 0.02) << name;
    EXPECT_NEAR(parameters[name].mean().item<double>() / deviation, 0, 0.03) << name;
  }
  for (const auto& item : parameters) {
    const bool norm = item.key().find("ln_") != std::string::npos;
    if (item.value().dim() == 2) continue;
    const float value = norm && item.key().ends_with("weight") ? 1 : 0;
    EXPECT_TRUE(item.value().eq(value).all().item<bool>()) << item.key();
  }
}

TEST(Gpt, SeesNoTokenBeforeItComes) {
  for (TextModelFactory* make : {make_gpt_tiny, make_gpt_mini, make_lstm}) {
    auto model = make({.vocabulary = 60, .length = 90});
    initialise_parameters(*model, 2);
    const torch::NoGradGuard no_grad;
    const torch::Tensor ids = random_tokens({2, 90}, 60, 1);
    const torch::Tensor logits = model->forward(ids).logits;
    for (const std::int64_t changed : {0, 1, 40, 89}) {
      torch::Tensor other = ids.clone();
      other.select(1, changed).add_(1).remainder_(60);
      const torch::Tensor after = model->forward(other).logits;
      EXPECT_TRUE(torch::equal(after.narrow(1, 0, changed), logits.narrow(1, 0, changed)));
      for (std::int64_t t = changed; t < 90; ++t) {
        EXPECT_FALSE(torch::equal(after.select(1, t), logits.select(1, t))) << changed << " " << t;
      }
    }
  }
}

TEST(Gpt, TakesShorterBlocksThanItsLength) {
  auto model = make_gpt_tiny({.vocabulary = 60, .length = 64});
  initialise_parameters(*model, 2);
  const torch::NoGradGuard no_grad;
  const torch::Tensor ids = random_tokens({2, 64}, 60, 1);
  const torch::Tensor whole = model->forward(ids).logits;
  const torch::Tensor start = model->forward(ids.narrow(1, 0, 17)).logits;
  EXPECT_TRUE(torch::allclose(start, whole.narrow(1, 0, 17), 1e-4, 1e-5));
}

TEST(Gpt, LearnsAPatternInAFewSteps) {
  auto model = make_gpt_tiny({.vocabulary = 16, .length = 32});
  initialise_parameters(*model, 1);
  torch::optim::AdamW optimizer(model->parameters(), torch::optim::AdamWOptions(2e-3));
  const torch::Tensor block = (torch::arange(33) * 3).remainder(16).unsqueeze(0).repeat({4, 1});
  double loss = 0;
  for (int step = 0; step < 25; ++step) {
    optimizer.zero_grad();
    const auto output = model->forward(block.narrow(1, 0, 32));
    const torch::Tensor mean = example_losses(output.logits, block.narrow(1, 1, 32)).mean();
    mean.backward();
    optimizer.step();
    loss = mean.item<double>();
  }
  EXPECT_LT(loss, 0.5);
}

}  // namespace
}  // namespace impart::models

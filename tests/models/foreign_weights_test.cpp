#include "impart/models/foreign_weights.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/core/error.h"
#include "impart/models/classifier.h"
#include "impart/models/images/models.h"
#include "impart/models/init.h"
#include "impart/models/module_tree.h"
#include "impart/models/state.h"
#include "impart/models/text/text_models.h"
#include "impart/tensors/tensor_bytes.h"
#include "tests/support/temporary_folder.h"

// tests/train/trained_test.py starts runs from files of torchvision and Hugging Face.

namespace impart::models {
namespace {

using impart::testing::TemporaryFolder;

std::shared_ptr<Classifier> gpt(std::int64_t vocabulary, std::int64_t length, std::uint64_t seed) {
  auto model = make_gpt_tiny({.vocabulary = vocabulary, .length = length});
  initialise_parameters(*model, seed);
  model->eval();
  return model;
}

/// Writes the model's state with names changed, and more tensors.
void write_state(const std::string& path, Classifier& model, std::string_view without_prefix,
                 const std::vector<NamedTensor>& more = {}) {
  std::vector<torch::Tensor> alive;
  std::vector<TensorView> views;
  const auto add = [&](const std::string& name, const torch::Tensor& tensor) {
    alive.push_back(tensor.detach().contiguous());
    views.push_back(tensors::view_of(name, alive.back()));
  };
  for (const auto& [name, tensor] : state_of(model)) {
    add(name.starts_with(without_prefix) ? name.substr(without_prefix.size()) : name, tensor);
  }
  for (const auto& [name, tensor] : more) add(name, tensor);
  write_safetensors(path, views);
}

std::string refusal(const std::string& path, Classifier& model) {
  try {
    check_foreign_weights(path, model);
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

TEST(ForeignWeights, OfGpt2MayLackThePrefixAndHaveMasksAndATiedHead) {
  const TemporaryFolder folder;
  const auto theirs = gpt(50, 8, 1), ours = gpt(50, 8, 2);
  const torch::Tensor embedding = theirs->named_parameters()["transformer.wte.weight"];
  write_state(folder / "a", *theirs, "transformer.",
              {{"h.0.attn.bias", torch::ones({1, 1, 8, 8})}, {"lm_head.weight", embedding}});
  EXPECT_TRUE(load_foreign_weights(folder / "a", *ours).empty());
  const auto ids = torch::arange(8).unsqueeze(0);
  EXPECT_TRUE(torch::equal(ours->forward(ids).logits, theirs->forward(ids).logits));
}

TEST(ForeignWeights, OfMorePositionsGiveEqualLogits) {
  const TemporaryFolder folder;
  const auto theirs = gpt(50, 16, 1), ours = gpt(50, 8, 2);
  write_state(folder / "a", *theirs, "");
  const auto notes = load_foreign_weights(folder / "a", *ours);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0], "the first 8 of 16 positions are used");
  const auto ids = torch::arange(8).unsqueeze(0);
  EXPECT_TRUE(torch::equal(ours->forward(ids).logits, theirs->forward(ids).logits));
  EXPECT_NE(refusal(folder / "a", *gpt(50, 17, 1)).find("data.block=16"), std::string::npos);
}

TEST(ForeignWeights, KeepADrawnHeadIfTheNumberOfClassesDiffers) {
  const TemporaryFolder folder;
  const auto theirs = make_small_cnn({.classes = 7}), ours = make_small_cnn({.classes = 3});
  initialise_parameters(*theirs, 1);
  initialise_parameters(*ours, 2);
  const torch::Tensor drawn = ours->named_parameters()["fc.weight"].detach().clone();
  save_model(folder / "a", *theirs);
  const auto notes = load_foreign_weights(folder / "a", *ours);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("fc.weight is for 7 classes, here there are 3"), std::string::npos);
  EXPECT_TRUE(torch::equal(ours->named_parameters()["fc.weight"], drawn));
  EXPECT_TRUE(torch::equal(ours->named_parameters()["conv2.weight"],
                           theirs->named_parameters()["conv2.weight"]));
}

TEST(ForeignWeights, AreRefusedIfAnythingElseDiffers) {
  const TemporaryFolder folder;
  const auto theirs = gpt(50, 8, 1), ours = gpt(50, 8, 2);
  const torch::Tensor before = ours->named_parameters()["transformer.wpe.weight"].detach().clone();
  write_state(folder / "more", *theirs, "", {{"extra", torch::zeros({2})}});
  EXPECT_NE(refusal(folder / "more", *ours).find("unexpected: extra"), std::string::npos);
  write_state(folder / "untied", *theirs, "", {{"lm_head.weight", torch::zeros({50, 128})}});
  EXPECT_NE(refusal(folder / "untied", *ours).find("unexpected: lm_head"), std::string::npos);
  save_model(folder / "mini", *make_gpt_mini({.vocabulary = 50, .length = 8}));
  const std::string other = refusal(folder / "mini", *ours);
  EXPECT_NE(other.find("unexpected: transformer.h.4"), std::string::npos) << other;
  EXPECT_NE(other.find("is [50, 192], not [50, 128]"), std::string::npos) << other;
  EXPECT_THROW(load_foreign_weights(folder / "mini", *ours), DataError);
  EXPECT_TRUE(torch::equal(ours->named_parameters()["transformer.wpe.weight"], before));
}

}  // namespace
}  // namespace impart::models

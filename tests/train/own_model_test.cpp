#include "impart/train/own_model.h"

#include <functional>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/core/error.h"
#include "tests/train/own_run_fixture.h"

namespace impart::train {
namespace {

using namespace testing;

/// A linear layer, and whatever a test adds.
class Model : public models::Classifier {
 public:
  explicit Model(const std::function<void(Model&)>& add = {}) {
    fc_ = register_module("fc", torch::nn::Linear(3 * 32 * 32, 10));
    if (add) add(*this);
  }
  Output forward(torch::Tensor images) override {
    const auto features = images.flatten(1);
    return {fc_(features), gives_features ? features : torch::Tensor()};
  }
  torch::nn::Linear& fc() { return fc_; }

  bool gives_features = true;

 private:
  torch::nn::Linear fc_{nullptr};
};

std::string complaint(const std::function<void(Model&)>& add) {
  Model model(add);
  return message_of<ConfigError>([&] { check_own_model(model); });
}

TEST(OwnModel, OfTorchsLayersIsFine) {
  EXPECT_EQ(complaint([](Model&) {}), "");
}

TEST(OwnModel, MustNotMixWorkersInBatchNorm) {
  EXPECT_EQ(
      complaint([](Model& model) { model.register_module("norm", torch::nn::BatchNorm2d(4)); }),
      "own model: 'norm' is torch::nn::BatchNorm2dImpl, which would mix the workers of a "
      "process; take impart::WorkerBatchNorm2d");
}

TEST(OwnModel, MustHaveParametersThatCanBeTrained) {
  EXPECT_EQ(complaint([](Model& model) { model.fc()->weight.set_requires_grad(false); }),
            "own model: parameter 'fc.weight' needs no gradient; register it as a buffer");
  EXPECT_EQ(complaint([](Model& model) {
              model.register_parameter("scale", torch::ones({1}, torch::kFloat64));
            }),
            "own model: parameter 'scale' is not of type float");
  EXPECT_EQ(complaint([](Model& model) { model.register_parameter("again", model.fc()->bias); }),
            "own model: parameter 'fc.bias' is registered twice");
}

TEST(OwnModel, ThatIsRefusedLeavesAnEarlierRunAsItWas) {
  const TemporaryFolder folder;
  run_alone({.config = tiny_config(folder)});
  const std::string summary = read_text(folder / "run/summary.json");
  const auto model = std::make_shared<Model>(
      [](Model& made) { made.register_module("norm", torch::nn::BatchNorm1d(4)); });
  EXPECT_THROW(run_alone({.config = tiny_config(folder), .overwrite = true, .own_model = model}),
               ConfigError);
  EXPECT_EQ(read_text(folder / "run/summary.json"), summary);
}

TEST(OwnModel, ThatGivesNoFeaturesEndsTheRunWithAReason) {
  const TemporaryFolder folder;
  const auto model = std::make_shared<Model>();
  model->gives_features = false;
  EXPECT_EQ(message_of<ConfigError>(
                [&] { run_alone({.config = tiny_config(folder), .own_model = model}); }),
            "the model gives no features: what goes into its last linear layer");
  EXPECT_EQ(read_text(folder / "run/FAILED").substr(0, 9), "the model");
}

}  // namespace
}  // namespace impart::train

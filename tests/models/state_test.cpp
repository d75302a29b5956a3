#include "impart/models/state.h"

#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/torch.h>
#include <unistd.h>

#include "impart/core/error.h"
#include "impart/models/classifier.h"
#include "impart/models/images/models.h"
#include "impart/models/init.h"
#include "impart/models/layers/worker_statistics.h"
#include "impart/models/module_tree.h"
#include "impart/tensors/tensor_bytes.h"
#include "tests/models/tensors.h"

namespace impart::models {
namespace {

using testing::random_tensor;

class StateTest : public ::testing::Test {
 protected:
  ~StateTest() override { std::filesystem::remove(path_); }

  /// The message of the DataError that loading the file throws.
  std::string error_of_loading(torch::nn::Module& model) const {
    try {
      load_model(path_, model);
    } catch (const DataError& error) {
      return error.what();
    }
    return "no error";
  }

  std::string path_ = (std::filesystem::temp_directory_path() /
                       fmt::format("impart-state-{}.safetensors", ::getpid()))
                          .string();
};

TEST_F(StateTest, ComesBackAsItWasSaved) {
  for (const auto& entry : kModels) {
    auto saved = entry.function({}), loaded = entry.function({});
    initialise_parameters(*saved, 3);
    saved->forward(random_tensor({2, 3, 32, 32}, 1));
    collapse_running_statistics(*saved, StatisticsOfRun::kMean);
    save_model(path_, *saved, {{"epoch", "3"}});
    load_model(path_, *loaded);
    const auto expected = state_of(*saved), actual = state_of(*loaded);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(torch::equal(actual[i].tensor, expected[i].tensor)) << expected[i].name;
    }
  }
  EXPECT_EQ(SafetensorsFile(path_).metadata(), (TensorMetadata{{"epoch", "3"}, {"format", "pt"}}));
}

TEST_F(StateTest, RestartsTheWorkersStatistics) {
  auto model = make_small_cnn({});
  save_model(path_, *model);
  model->forward(random_tensor({2, 3, 8, 8}, 1));
  load_model(path_, *model);
  visit_batch_norms(*model, [](const std::string&, WorkerBatchNorm2dImpl& layer) {
    EXPECT_FALSE(layer.worker_mean().defined());
  });
}

TEST_F(StateTest, NamesWhatIsMissingUnexpectedOrDifferent) {
  auto model = make_mlp({.classes = 4, .image_size = 2});
  initialise_parameters(*model, 1);
  std::vector<TensorView> views;
  for (const auto& [name, tensor] : state_of(*model))
    views.push_back(tensors::view_of(name, tensor));
  views[0].name = "fc9.weight";
  views[2].shape = {65536};
  views[5].type = ElementType::kI32;
  write_safetensors(path_, views);
  const torch::Tensor before = model->named_parameters()["fc1.bias"].clone();
  const std::string message = error_of_loading(*model);
  EXPECT_NE(message.find("missing: fc1.weight;"), std::string::npos) << message;
  EXPECT_NE(message.find("unexpected: fc9.weight;"), std::string::npos) << message;
  EXPECT_NE(message.find("fc2.weight is F32 [65536], not F32 [256, 256]"), std::string::npos)
      << message;
  EXPECT_NE(message.find("fc.bias is I32 [4], not F32 [4]"), std::string::npos) << message;
  EXPECT_TRUE(torch::equal(model->named_parameters()["fc1.bias"], before));
}

TEST_F(StateTest, CutsLongListsShort) {
  save_model(path_, *make_mlp({}));
  const std::string message = error_of_loading(*make_resnet18({}));
  EXPECT_NE(message.find("missing: conv1.weight, bn1.weight"), std::string::npos) << message;
  EXPECT_NE(message.find("more"), std::string::npos) << message;
  EXPECT_LT(message.size(), 600u);
}

TEST_F(StateTest, KeepsEveryTypeThatBothSidesHave) {
  for (const auto type :
       {torch::kDouble, torch::kFloat, torch::kHalf, torch::kBFloat16, torch::kLong, torch::kInt,
        torch::kShort, torch::kChar, torch::kByte, torch::kBool}) {
    const torch::Tensor tensor = random_tensor({3, 5}, 1, 50).to(type);
    EXPECT_TRUE(torch::equal(tensors::copy_of(tensors::view_of("t", tensor)), tensor)) << type;
  }
  const std::vector<std::uint32_t> words(2);
  EXPECT_THROW(tensors::copy_of({"words", ElementType::kU32, {2}, std::as_bytes(std::span(words))}),
               ConfigError);
}

}  // namespace
}  // namespace impart::models

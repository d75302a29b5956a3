#include "impart/feed/own_data.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/core/error.h"
#include "tests/train/own_run_fixture.h"

namespace impart::train {
namespace {

using testing::load_shapes;
using testing::message_of;

feed::TensorData make_tensors() {
  const feed::TensorSet set{torch::zeros({6, 2}), torch::tensor({0, 1, 2, 0, 1, 2}, torch::kInt64)};
  return {.train = set, .test = set, .classes = 3};
}

/// What is wrong with data; "" if nothing is.
std::string complaint(feed::OwnData data) {
  return message_of<DataError>([&] { feed::take_own_data(std::move(data), {}); });
}

TEST(OwnData, OfTensorsIsTakenAsItIs) {
  const feed::LoadedData taken = feed::take_own_data({make_tensors()}, {});
  ASSERT_TRUE(taken.tensors);
  EXPECT_EQ(taken.dataset.train.classes, 3u);
  EXPECT_EQ(taken.dataset.train.labels, (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2}));
}

TEST(OwnData, OfTensorsMustHaveOneTargetForEveryInput) {
  feed::TensorData data = make_tensors();
  data.test.targets = data.test.targets.narrow(0, 0, 5);
  EXPECT_EQ(complaint({data}),
            "own data, test set: inputs of shape [6, 2] and targets of shape [5]; expected [N, "
            "...] and [N]");
}

TEST(OwnData, OfTensorsMustHaveTargetsThatAreClasses) {
  feed::TensorData data = make_tensors();
  data.train.targets[4] = -1;
  EXPECT_EQ(complaint({data}),
            "own data, training set: example 4 has target -1, but there are 3 classes");
  data.train.targets = data.train.targets.to(torch::kFloat32);
  EXPECT_EQ(complaint({data}), "own data, training set: targets are Float; expected int64");
  data.train.targets = torch::Tensor();
  EXPECT_EQ(complaint({data}), "own data, training set: a tensor is undefined");
}

TEST(OwnData, OfTensorsMustKnowTheTruthOfAllOrNone) {
  feed::TensorData data = make_tensors();
  data.truth = {0.5f};
  EXPECT_EQ(complaint({data}), "own data, training set: 6 examples, but the truth of 1");
}

TEST(OwnData, OfTensorsHasNoPayloadsToMove) {
  const testing::TemporaryFolder folder;
  RunSpec spec{.config = testing::tiny_config(folder)};
  spec.config.store.kind = "partitioned";
  spec.own_model = testing::make_own_mlp(1);
  spec.own_data = [] { return feed::OwnData{make_tensors()}; };
  EXPECT_TRUE(message_of<ConfigError>([&] {
                testing::run_alone(spec);
              }).starts_with("store: tensors of your own are in memory on every process"));
}

TEST(OwnData, OfImagesMustHoldTogether) {
  data::ImageData images = load_shapes();
  images.train.labels[2] = 10;
  EXPECT_EQ(complaint({images}),
            "own data, training set: example 2 has label 10, but there are 10 classes");
  images = load_shapes();
  images.test.labels.pop_back();
  EXPECT_EQ(complaint({images}), "own data, test set: 30 examples, but 29 labels");
  images = load_shapes();
  images.test.pixels.pop_back();
  EXPECT_EQ(complaint({images}),
            "own data, test set: 92159 bytes of pixels; 30 images of 3 x 32 x 32 have 92160");
  images = load_shapes();
  images.train.mean = {};
  EXPECT_EQ(complaint({images}),
            "own data, training set: mean and std have 0 and 3 numbers for 3 channels; see "
            "measure_channels");
}

TEST(OwnData, ThatIsOpenedMustHavePayloads) {
  EXPECT_EQ(complaint({data::ExampleData{}}),
            "own data, training set: it has no payloads or no decoder");
}

}  // namespace
}  // namespace impart::train

// Runs of a program's own give the very weights that the same run by names gives.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/core/error.h"
#include "impart/train/output/weights_hash.h"
#include "tests/train/own_run_fixture.h"

namespace impart::train {
namespace {

using namespace testing;

class OwnRun : public ::testing::Test {
 protected:
  std::string weights_by_name(const config::RunConfig& config) {
    const TemporaryFolder other;
    config::RunConfig same = config;
    same.output = other / "run";
    return run_alone({.config = same}).summary.weights_sha256;
  }

  TemporaryFolder folder_;
  config::RunConfig config_ = tiny_config(folder_);
};

TEST_F(OwnRun, TrainsAModelAsItIsGivenAndGivesItBackTrained) {
  const std::string expected = weights_by_name(config_);
  const auto model = make_own_mlp(config_.seed);
  config::RunConfig renamed = config_;
  renamed.model.name = "mine";
  const auto outcome = run_alone({.config = renamed, .own_model = model});
  EXPECT_EQ(outcome.summary.weights_sha256, expected);
  EXPECT_EQ(hash_weights(*model), expected);
}

TEST_F(OwnRun, TrainsOnImages) {
  config::RunConfig renamed = config_;
  renamed.data.name = "my-pictures";
  const auto outcome =
      run_alone({.config = renamed, .own_data = [] { return feed::OwnData{load_shapes()}; }});
  EXPECT_EQ(outcome.summary.weights_sha256, weights_by_name(config_));
  EXPECT_EQ(outcome.summary.examples, 90u);
}

TEST_F(OwnRun, TrainsOnImagesThatAStoreMoves) {
  config::RunConfig renamed = config_;
  renamed.data.name = "my-pictures";
  renamed.store.kind = "partitioned";
  const auto outcome =
      run_alone({.config = renamed, .own_data = [] { return feed::OwnData{load_shapes()}; }});
  EXPECT_EQ(outcome.summary.weights_sha256, weights_by_name(config_));
  EXPECT_GT(outcome.summary.peak_stored_examples, 0u);
}

/// The set as the model is given it: ((pixel / 255) - mean) / std.
feed::TensorSet normalised(const data::ImageSet& set) {
  const auto count = static_cast<std::int64_t>(set.count);
  const auto moments = [&](const std::vector<float>& values) {
    return torch::tensor(values).view({1, static_cast<std::int64_t>(values.size()), 1, 1});
  };
  feed::TensorSet tensors{.inputs = torch::empty({count, set.channels, set.height, set.width}),
                          .targets = torch::empty({count}, torch::kInt64)};
  std::copy(set.pixels.begin(), set.pixels.end(), tensors.inputs.data_ptr<float>());
  std::copy(set.labels.begin(), set.labels.end(), tensors.targets.data_ptr<std::int64_t>());
  tensors.inputs = tensors.inputs.div(255).sub(moments(set.mean)).div(moments(set.std));
  return tensors;
}

feed::TensorData shapes_as_tensors() {
  const data::ImageData images = load_shapes();
  return {.train = normalised(images.train),
          .test = normalised(images.test),
          .classes = images.train.classes,
          .truth = images.train.truth};
}

TEST_F(OwnRun, TrainsOnTensors) {
  config_.importance.notion = "truth";
  config::RunConfig renamed = config_;
  renamed.data.name = "my-tensors";
  const auto outcome =
      run_alone({.config = renamed, .own_data = [] { return feed::OwnData{shapes_as_tensors()}; }});
  EXPECT_EQ(outcome.summary.weights_sha256, weights_by_name(config_));
}

double slow_visits(const importance::ExampleStatistics& example) {
  return example.loss_mean * example.loss_mean;
}

placement::Partition deal_by_turns(const Scores& importance, const placement::PartitionSpec& spec) {
  return placement::deal_in_snake(importance, spec);
}

TEST_F(OwnRun, HoldsOutOfTensorsWhatItHoldsOutOfImages) {
  config_.data.validation = 0.2;
  const auto outcome =
      run_alone({.config = config_, .own_data = [] { return feed::OwnData{shapes_as_tensors()}; }});
  EXPECT_EQ(outcome.summary.weights_sha256, weights_by_name(config_));
  EXPECT_NEAR(static_cast<double>(outcome.summary.validation_examples), 18, 5);
  EXPECT_EQ(outcome.summary.examples + outcome.summary.validation_examples, 90u);
}

TEST_F(OwnRun, GoesOnWithRowsOfItsOwnWhereItWasStopped) {
  const placement::OwnRows own{.heuristics = {{{"turns", "as snake", deal_by_turns}}},
                               .notions = {{{"squared", "square of the mean loss", slow_visits},
                                            importance::StateSet::kLossMean}}};
  config_.partition.heuristic = "turns";
  config_.importance.notion = "squared";
  const auto whole = run_alone({.config = config_, .overwrite = true, .own = own});
  int steps = 0;
  const auto stopped = run_alone({.config = config_,
                                  .overwrite = true,
                                  .stop_requested = [&] { return ++steps == 5; },
                                  .own = own});
  EXPECT_TRUE(stopped.preempted);
  const auto resumed = run_alone({.config = config_, .resume = true, .own = own});
  EXPECT_EQ(resumed.summary.weights_sha256, whole.summary.weights_sha256);
  EXPECT_EQ(resumed.summary.examples_moved, whole.summary.examples_moved);
}

TEST_F(OwnRun, WritesNothingIfItsDataIsWrong) {
  const auto wrong = [] {
    feed::TensorData data = shapes_as_tensors();
    data.train.targets[3] = 10;
    return feed::OwnData{std::move(data)};
  };
  EXPECT_EQ(message_of<DataError>([&] { run_alone({.config = config_, .own_data = wrong}); }),
            "own data, training set: example 3 has target 10, but there are 10 classes");
  EXPECT_EQ(folder_.count_files(), 0u);
}

TEST_F(OwnRun, RefusesTensorsThatANamedModelCannotTake) {
  const auto points = [] {
    const feed::TensorSet set{torch::zeros({9, 2}), torch::zeros({9}, torch::kInt64)};
    return feed::OwnData{feed::TensorData{.train = set, .test = set, .classes = 1}};
  };
  const std::string message =
      message_of<ConfigError>([&] { run_alone({.config = config_, .own_data = points}); });
  EXPECT_TRUE(message.starts_with("model.name: mlp is for images")) << message;
  EXPECT_EQ(folder_.count_files(), 0u);
}

TEST_F(OwnRun, RefusesMoreWorkersThanExamples) {
  config_.workers.count = 91;
  EXPECT_EQ(
      message_of<ConfigError>([&] {
        run_alone({.config = config_, .own_data = [] { return feed::OwnData{load_shapes()}; }});
      }),
      "workers.count: there are 91 workers, but only 90 training examples");
}

}  // namespace
}  // namespace impart::train

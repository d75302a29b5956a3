// `precision: bf16` on the CPU, beside floats.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/train/engine_fixture.h"

namespace impart::train {
namespace {

using testing::Training;

config::RunConfig in_half(config::RunConfig config) {
  config.precision = config::RunConfig::Precision::kBf16;
  return config;
}

const std::vector<std::uint64_t> kHalfSizes = {12, 12, 9, 7};

/// How far the weights moved in a few steps, and which way.
torch::Tensor way_of(const config::RunConfig& config, const std::string& model) {
  Training training(config, model);
  const torch::Tensor before = training.parameters();
  training.train(testing::make_plan(kHalfSizes, 3), 0, 3, 0.01);
  training.engine.end_epoch();
  return training.parameters() - before;
}

double cosine_of(const torch::Tensor& a, const torch::Tensor& b) {
  return ((a * b).sum() / (a.norm() * b.norm())).item<double>();
}

TEST(HalfEngine, GoesTheWayOfFloats) {
  const torch::Tensor half = way_of(in_half(testing::plain()), "small-cnn");
  const torch::Tensor single = way_of(testing::plain(), "small-cnn");
  EXPECT_GT(cosine_of(half, single), 0.97);
  EXPECT_NEAR(half.norm().item<double>() / single.norm().item<double>(), 1, 0.05);
}

TEST(HalfEngine, GoesTheWayOfFloatsThroughDeepModelsToo) {
  // One step, and all images together: batch norm of few values makes much of what was rounded.
  auto config = testing::plain();
  config.workers.batch_norm = config::WorkersConfig::kWholeStep;
  const auto way = [](const config::RunConfig& with, const std::string& model) {
    Training training(with, model);
    const torch::Tensor before = training.parameters();
    training.train(testing::make_plan({10, 10, 10, 10}, 10), 0, 1, 0.01);
    return training.parameters() - before;
  };
  for (const char* model : {"resnet18", "fast-cnn", "mlp"}) {
    SCOPED_TRACE(model);
    const torch::Tensor half = way(in_half(config), model), single = way(config, model);
    EXPECT_GT(cosine_of(half, single), 0.9);
    EXPECT_NEAR(half.norm().item<double>() / single.norm().item<double>(), 1, 0.1);
  }
}

TEST(HalfEngine, ComputesInBfloat16) {
  EXPECT_FALSE(torch::equal(way_of(in_half(testing::plain()), "small-cnn"),
                            way_of(testing::plain(), "small-cnn")));
}

TEST(HalfEngine, KeepsMasterWeightsInFloats) {
  Training training(in_half(testing::plain()));
  const auto before = training.parameters();
  // Far too small a change for a bfloat16 to notice.
  training.train(testing::make_plan(kHalfSizes, 3), 0, 1, 1e-5);
  for (const torch::Tensor& parameter : training.engine.model().parameters()) {
    EXPECT_EQ(parameter.scalar_type(), torch::kFloat);
  }
  EXPECT_FALSE(torch::equal(training.parameters(), before));
}

TEST(HalfEngine, ReducesExactlyAndSharesStatisticsAsFloatsDo) {
  for (const bool shares : {false, true}) {
    SCOPED_TRACE(shares);
    config::RunConfig config = testing::plain();
    if (shares) config.workers.batch_norm = config::WorkersConfig::kWholeStep;
    config::RunConfig exact = in_half(config);
    exact.workers.reduce = config::WorkersConfig::Reduce::kExact;
    const torch::Tensor way = way_of(exact, "small-cnn");
    EXPECT_GT(cosine_of(way, way_of(config, "small-cnn")), 0.97);
    EXPECT_TRUE(torch::equal(way, way_of(exact, "small-cnn")));
  }
}

TEST(HalfEngine, TrainsReplicasOfTheirOwn) {
  const auto config = testing::with_sync(testing::plain(), testing::kAtTheEndOfTheEpoch);
  EXPECT_GT(cosine_of(way_of(in_half(config), "small-cnn"), way_of(config, "small-cnn")), 0.97);
}

TEST(HalfEngine, MeasuresSignalsInFloats) {
  Training half(in_half(testing::plain())), single(testing::plain());
  for (Training* training : {&half, &single}) {
    training->train(testing::make_plan(kHalfSizes, 3), 0, 2, 0.01);
  }
  const torch::Tensor found = half.engine.collected_signals();
  EXPECT_EQ(found.scalar_type(), torch::kFloat);
  EXPECT_LT(testing::relative_distance(found, single.engine.collected_signals()), 0.05);
}

TEST(HalfEngine, EvaluatesLossesCloseToThoseOfFloats) {
  Training half(in_half(testing::plain())), single(testing::plain());
  const auto of = [](Training& training) {
    training.train(testing::make_plan(kHalfSizes, 3), 0, 2, 0.01);
    return training.engine.inference_losses(testing::make_partition());
  };
  const std::vector<float> found = of(half), expected = of(single);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 0.1) << i;
}

}  // namespace
}  // namespace impart::train

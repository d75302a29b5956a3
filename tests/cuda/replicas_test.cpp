// Workers that train apart on the GPU: recorded and side by side, they do what the CPU does.

#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/models/layers/worker_statistics.h"
#include "tests/cuda/gpu_test.h"
#include "tests/cuda/training.h"

namespace impart {
namespace {

using testing::config_of;
using testing::distance;
using testing::kEpochs;
using testing::Training;

class DeviceReplicasTest : public testing::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    at::globalContext().setDeterministicCuDNN(true);
  }
};

/// Workers agree every so many steps; 0: at the end of the epoch.
config::RunConfig apart(const std::string& model, std::uint32_t steps,
                        const std::string& outer = "average") {
  config::RunConfig config = config_of(model);
  using Kind = config::SyncRule::Kind;
  config.workers.sync = {.kind = steps > 0 ? Kind::kEverySteps : Kind::kEpoch, .steps = steps};
  config.workers.outer = outer;
  return config;
}

/// The same, worker after worker and not recorded.
config::RunConfig one_by_one(config::RunConfig config) {
  config.workers.micro_batch = 8;
  return config;
}

/// Where a ReLU's input is 0 but for rounding, one of them passes a gradient on and the other does
/// not, which changes a small model by a percent; with `epochs_alone` every epoch starts from the
/// CPU's state, so that such differences do not grow.
void expect_as_on_the_cpu(const config::RunConfig& config, bool epochs_alone = false) {
  SCOPED_TRACE(config.model.name + " " + config.workers.outer);
  Training here(config, torch::kCPU), there(config, torch::kCUDA);
  auto before = here.parameters();
  ASSERT_TRUE(torch::equal(before, there.parameters()));
  torch::Tensor expected, signals;
  for (std::uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
    if (epochs_alone && epoch > 0) {
      EXPECT_LT(distance(there.parameters() - before, here.parameters() - before), 2e-2);
      there.take_state_of(here);
      before = here.parameters();
    }
    expected = here.train(epoch);
    signals = there.train(epoch);
    ASSERT_EQ(there.engine.syncs().size(), here.engine.syncs().size());
    for (std::size_t i = 0; i < here.engine.syncs().size(); ++i) {
      const double divergence = here.engine.syncs()[i].divergence;
      EXPECT_NEAR(there.engine.syncs()[i].divergence, divergence, 0.05 * divergence);
    }
  }
  EXPECT_LT(distance(there.parameters() - before, here.parameters() - before), 2e-2);
  for (std::int64_t row = 0; row < expected.size(0); ++row) {
    EXPECT_LT(distance(signals[row], expected[row]), 5e-2) << "signal " << row;
  }
  for (std::int64_t worker = 0; worker < config.workers.count; ++worker) {
    EXPECT_LT(distance(models::copy_worker_statistics(there.engine.model(), worker),
                       models::copy_worker_statistics(here.engine.model(), worker)),
              1e-2)
        << "worker " << worker;
  }
}

TEST_F(DeviceReplicasTest, TrainWhatTheCpuTrains) {
  expect_as_on_the_cpu(apart("small-cnn", 0));
  expect_as_on_the_cpu(apart("small-cnn", 2, "nesterov"));
  expect_as_on_the_cpu(apart("mlp", 3, "slowmo"), /*epochs_alone=*/true);
}

TEST_F(DeviceReplicasTest, TrainWithAdamwWhatTheCpuTrains) {
  auto config = apart("mlp", 2);
  config.optimizer.name = config::OptimizerConfig::Name::kAdamw;
  config.optimizer.lr = 1e-3;
  config.optimizer.epsilon = 1e-4;
  expect_as_on_the_cpu(config);
}

TEST_F(DeviceReplicasTest, RecordedAreThoseThatAreNot) {
  for (const std::uint32_t workers : {4u, 20u}) {  // more than there are lanes
    auto config = apart("small-cnn", 3, "nesterov");
    config.workers.count = workers;
    config.workers.batch = 64 / workers + 8;
    config.optimizer.label_smoothing = 0.1;
    Training recorded(config, torch::kCUDA), plain(one_by_one(config), torch::kCUDA);
    const auto before = plain.parameters();
    for (std::uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
      const auto expected = plain.train(epoch), signals = recorded.train(epoch);
      EXPECT_LT(distance(signals[0], expected[0]), 1e-3);
    }
    EXPECT_LT(distance(recorded.parameters() - before, plain.parameters() - before), 1e-2);
  }
}

TEST_F(DeviceReplicasTest, RecordedAreThoseThatAreNotWithEpochsOfOtherLengths) {
  const auto& random = find_entry(placement::kSelections, "selection", "random");
  auto config = apart("small-cnn", 2);
  config.selection.strategy = random.name;
  Training recorded(config, torch::kCUDA), plain(one_by_one(config), torch::kCUDA);
  const auto before = plain.parameters();
  for (std::uint32_t epoch = 0; epoch < 5; ++epoch) {
    const auto expected = plain.train_selected(random, epoch);
    const auto signals = recorded.train_selected(random, epoch);
    EXPECT_LT(distance(signals[0], expected[0]), 1e-3);
  }
  EXPECT_LT(distance(recorded.parameters() - before, plain.parameters() - before), 1e-2);
}

/// A run that was resumed in the middle of an epoch has longer epochs before it than its first.
TEST_F(DeviceReplicasTest, RecordAgainWhereAnEpochIsLongerThanAllBefore) {
  const auto config = apart("small-cnn", 2);
  Training recorded(config, torch::kCUDA), plain(one_by_one(config), torch::kCUDA);
  const auto before = plain.parameters();
  std::uint32_t epoch = 0;
  for (const std::uint32_t length : {160u, 160u, 300u, 300u}) {
    const placement::Parts parts =
        placement::shuffle_evenly(std::vector<float>(length), {.workers = 4, .seed = 3}).parts();
    const auto expected = plain.train_visits(parts, {}, epoch);
    EXPECT_LT(distance(recorded.train_visits(parts, {}, epoch)[0], expected[0]), 1e-3);
    ++epoch;
  }
  EXPECT_LT(distance(recorded.parameters() - before, plain.parameters() - before), 1e-2);
}

TEST_F(DeviceReplicasTest, AreReproducible) {
  auto config = apart("resnet18", 2, "nesterov");
  config.workers.count = 12;
  config.workers.batch = 8;
  config.precision = config::RunConfig::Precision::kBf16;
  torch::Tensor first;
  for (int run = 0; run < 2; ++run) {
    Training training(config, torch::kCUDA);
    for (std::uint32_t epoch = 0; epoch < kEpochs; ++epoch) training.train(epoch);
    if (run == 0) {
      first = training.parameters();
    } else {
      EXPECT_TRUE(torch::equal(first, training.parameters()));
    }
  }
}

TEST_F(DeviceReplicasTest, InBfloat16StayCloseToFloats) {
  auto config = apart("resnet18", 0);
  Training wide(config, torch::kCUDA);
  config.precision = config::RunConfig::Precision::kBf16;
  Training narrow(config, torch::kCUDA);
  const auto expected = wide.train(0), signals = narrow.train(0);
  EXPECT_LT(testing::loss_distance(signals, expected, 1), 3e-2);
  EXPECT_LT(testing::loss_distance(signals, expected, 2), 0.3);
}

TEST_F(DeviceReplicasTest, DelayOuterStepsAsTheCpuDoes) {
  auto config = apart("small-cnn", 2, "nesterov");
  config.workers.outer_overlap = true;
  expect_as_on_the_cpu(config);
}

TEST_F(DeviceReplicasTest, ComeApartAfterEpochsTogether) {
  auto config = apart("small-cnn", 2);
  config.workers.sync_start = 1;
  expect_as_on_the_cpu(config);
}

TEST_F(DeviceReplicasTest, GoOnWithTheStateOfAnotherDevice) {
  const auto config = apart("small-cnn", 2, "nesterov");
  Training here(config, torch::kCPU), there(config, torch::kCUDA), resumed(config, torch::kCPU);
  here.train(0);
  there.train(0);
  resumed.take_state_of(there);
  const auto before = here.parameters();
  here.train(1);
  resumed.train(1);
  EXPECT_LT(distance(resumed.parameters() - before, here.parameters() - before), 1e-2);
}

}  // namespace
}  // namespace impart

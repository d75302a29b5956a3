// Whole steps and evaluations on the GPU: what they compute is what the CPU does.

#include <memory>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/core/error.h"
#include "impart/models/layers/worker_statistics.h"
#include "impart/train/device/device_evaluation.h"
#include "impart/train/engine.h"
#include "tests/cuda/gpu_test.h"
#include "tests/cuda/training.h"

namespace impart {
namespace {

using testing::config_of;
using testing::distance;
using testing::kEpochs;
using testing::loss_distance;
using testing::Training;

class DeviceStepsTest : public testing::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    at::globalContext().setDeterministicCuDNN(true);
  }
};

TEST_F(DeviceStepsTest, BeginAsOnTheCpu) {
  for (const char* model : {"small-cnn", "mlp", "resnet18", "resnet50"}) {
    SCOPED_TRACE(model);
    Training here(config_of(model), torch::kCPU), there(config_of(model), torch::kCUDA);
    const auto before = here.parameters();
    const auto expected = here.train(0, 1), signals = there.train(0, 1);
    EXPECT_LT(loss_distance(signals, expected, 1), 1e-4);
    EXPECT_LT(distance(there.parameters() - before, here.parameters() - before), 5e-2);
  }
}

TEST_F(DeviceStepsTest, TrainWhatTheCpuTrains) {
  for (const char* model : {"small-cnn", "mlp"}) {
    SCOPED_TRACE(model);
    Training here(config_of(model), torch::kCPU), there(config_of(model), torch::kCUDA);
    const auto before = here.parameters();
    ASSERT_TRUE(torch::equal(before, there.parameters()));
    torch::Tensor expected, signals;
    for (std::uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
      expected = here.train(epoch);
      signals = there.train(epoch);
    }
    EXPECT_LT(distance(there.parameters() - before, here.parameters() - before), 2e-2);
    for (std::int64_t row = 0; row < expected.size(0); ++row) {
      EXPECT_LT(distance(signals[row], expected[row]), 5e-2) << "signal " << row;
    }
    here.engine.collapse_statistics();
    there.engine.collapse_statistics();
    EXPECT_LT(distance(models::copy_worker_statistics(there.engine.model(), 2),
                       models::copy_worker_statistics(here.engine.model(), 2)),
              1e-2);
  }
}

TEST_F(DeviceStepsTest, OfPartsOfAnySizeAreThoseOfTheCpu) {
  // 200, 0, 70 and 30 examples: three kinds of steps, and a worker that never trains.
  std::vector<WorkerId> owners;
  for (std::uint32_t i = 0; i < 300; ++i) {
    owners.push_back(WorkerId{i % 3 < 2 ? 0u : i < 210 ? 2u : 3u});
  }
  const placement::Parts parts = placement::Partition(owners, 4).parts();
  Training on_cpu(config_of("small-cnn"), torch::kCPU),
      on_gpu(config_of("small-cnn"), torch::kCUDA);
  for (std::uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
    const auto expected = on_cpu.train_visits(parts, {}, epoch);
    const auto found = on_gpu.train_visits(parts, {}, epoch);
    EXPECT_LT(distance(found[0], expected[0]), epoch == 0 ? 1e-3 : 5e-2);
  }
  on_cpu.engine.collapse_statistics();
  on_gpu.engine.collapse_statistics();
  const auto statistics = [](Training& training) {
    std::vector<torch::Tensor> all;
    models::visit_batch_norms(training.engine.model(), [&](const std::string&, auto& layer) {
      all.push_back(layer.running_mean.cpu());
      all.push_back(layer.running_var.cpu());
    });
    return torch::cat(all);
  };
  EXPECT_LT(distance(statistics(on_gpu), statistics(on_cpu)), 5e-2);
}

TEST_F(DeviceStepsTest, RecordedAreThoseThatAreNot) {
  auto config = config_of("small-cnn");
  config.optimizer.label_smoothing = 0.1;
  Training recorded(config, torch::kCUDA);
  config.workers.micro_batch = 16;  // several passes a step, which are not recorded
  Training plain(config, torch::kCUDA);
  const auto before = plain.parameters();
  for (std::uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
    const auto expected = plain.train(epoch), signals = recorded.train(epoch);
    EXPECT_LT(distance(signals[0], expected[0]), 1e-3);
  }
  EXPECT_LT(distance(recorded.parameters() - before, plain.parameters() - before), 1e-2);
}

/// Batch norm of pairs of workers, of all, and group norm.
std::vector<config::RunConfig> configs_of_norms(const std::string& model) {
  std::vector<config::RunConfig> configs(3, config_of(model));
  configs[0].workers.batch_norm = 2;
  configs[1].workers.batch_norm = config::WorkersConfig::kWholeStep;
  configs[2].model.norm = config::Norm::kGroup;
  return configs;
}

TEST_F(DeviceStepsTest, TrainWhatTheCpuTrainsWithOtherNorms) {
  for (const config::RunConfig& config : configs_of_norms("small-cnn")) {
    SCOPED_TRACE(config.workers.batch_norm);
    Training here(config, torch::kCPU), there(config, torch::kCUDA);
    const auto before = here.parameters();
    for (std::uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
      here.train(epoch);
      there.train(epoch);
    }
    EXPECT_LT(distance(there.parameters() - before, here.parameters() - before), 2e-2);
    here.engine.collapse_statistics();
    there.engine.collapse_statistics();
    for (const auto& item : here.engine.model().named_buffers()) {
      if (!item.value().is_floating_point()) continue;
      EXPECT_LT(distance(there.engine.model().named_buffers()[item.key()], item.value()), 1e-2);
    }
  }
}

TEST_F(DeviceStepsTest, RecordedAreThoseThatAreNotWithOtherNorms) {
  for (config::RunConfig config : configs_of_norms("resnet18")) {
    SCOPED_TRACE(config.workers.batch_norm);
    for (const auto precision :
         {config::RunConfig::Precision::kFp32, config::RunConfig::Precision::kBf16}) {
      config.precision = precision;
      config.workers.micro_batch = 0;
      Training recorded(config, torch::kCUDA);
      config.workers.micro_batch = 16;  // several passes a step, but for statistics of all
      Training plain(config, torch::kCUDA);
      const auto expected = plain.train(0), signals = recorded.train(0);
      const bool half = precision == config::RunConfig::Precision::kBf16;
      EXPECT_LT(loss_distance(signals, expected, 1), half ? 3e-2 : 1e-3);
      for (std::uint32_t epoch = 1; epoch < kEpochs; ++epoch) {
        EXPECT_TRUE(recorded.train(epoch)[0].isfinite().all().item<bool>());
      }
    }
  }
}

TEST_F(DeviceStepsTest, MeasureTheDissimilarityThatTheCpuMeasures) {
  std::vector<WorkerId> owners;
  for (const std::uint32_t label : testing::data().train.labels)
    owners.push_back(WorkerId{label % 4});
  const placement::Partition partition(owners, 4);
  for (const auto norm : {config::Norm::kBatch, config::Norm::kGroup}) {
    auto config = config_of("resnet18");
    config.model.norm = norm;
    config.optimizer.lr = 1e-4;  // weights stay close to each other
    Training here(config, torch::kCPU), there(config, torch::kCUDA);
    here.train(0);
    there.train(0);
    const double expected = here.engine.dissimilarity(partition, 0).value();
    EXPECT_NEAR(there.engine.dissimilarity(partition, 0).value() / expected, 1, 0.05);
    const auto parameters = there.parameters();
    there.train(1);
    EXPECT_FALSE(torch::equal(there.parameters(), parameters)) << "steps go on";
    config.precision = config::RunConfig::Precision::kBf16;
    Training narrow(config, torch::kCUDA);
    narrow.train(0);
    EXPECT_NEAR(narrow.engine.dissimilarity(partition, 0).value() / expected, 1, 0.2);
  }
}

TEST_F(DeviceStepsTest, RecordedAreThoseThatAreNotWithWeightsAndEpochsOfOtherLengths) {
  const auto& random = find_entry(placement::kSelections, "selection", "random");
  auto config = config_of("small-cnn");
  config.selection.strategy = random.name;
  Training recorded(config, torch::kCUDA);
  config.workers.micro_batch = 16;  // several passes a step, which are not recorded
  Training plain(config, torch::kCUDA);
  const auto before = plain.parameters();
  for (std::uint32_t epoch = 0; epoch < 5; ++epoch) {  // the last one visits everything
    const auto expected = plain.train_selected(random, epoch);
    const auto signals = recorded.train_selected(random, epoch);
    EXPECT_LT(distance(signals[0], expected[0]), 1e-3);
  }
  EXPECT_LT(distance(recorded.parameters() - before, plain.parameters() - before), 1e-2);
}

TEST_F(DeviceStepsTest, WithNcclAreThoseWithout) {
  for (const char* model : {"small-cnn", "resnet18"}) {
    auto config = config_of(model);
    Training plain(config, torch::kCUDA);
    config.workers.transport = config::WorkersConfig::Transport::kNccl;  // of one process
    std::unique_ptr<Training> summed;
    try {
      summed = std::make_unique<Training>(config, torch::kCUDA);
    } catch (const ConfigError& error) {
      GTEST_SKIP() << error.what();
    }
    for (std::uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
      plain.train(epoch);
      summed->train(epoch);
    }
    EXPECT_TRUE(torch::equal(plain.parameters(), summed->parameters())) << model;
    EXPECT_EQ(summed->communicator->traffic().bytes, 0u);
  }
}

TEST_F(DeviceStepsTest, AreReproducible) {
  auto config = config_of("resnet18");
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

TEST_F(DeviceStepsTest, InBfloat16StayCloseToFloats) {
  for (const std::uint32_t micro_batch : {0u, 16u}) {
    auto config = config_of("resnet18");
    config.workers.micro_batch = micro_batch;
    Training wide(config, torch::kCUDA);
    config.precision = config::RunConfig::Precision::kBf16;
    Training narrow(config, torch::kCUDA);
    const auto expected = wide.train(0), signals = narrow.train(0);
    EXPECT_LT(loss_distance(signals, expected, 1), 3e-2);
    EXPECT_LT(loss_distance(signals, expected, 2), 0.3);
  }
}

TEST_F(DeviceStepsTest, GoOnWithTheStateOfAnotherDevice) {
  const auto config = config_of("small-cnn");
  Training here(config, torch::kCPU), there(config, torch::kCUDA), resumed(config, torch::kCPU);
  here.train(0);
  there.train(0);
  resumed.take_state_of(there);
  const auto before = here.parameters();
  here.train(1);
  resumed.train(1);
  EXPECT_LT(distance(resumed.parameters() - before, here.parameters() - before), 1e-2);
}

TEST_F(DeviceStepsTest, EvaluateWhatTheCpuEvaluates) {
  Training here(config_of("small-cnn"), torch::kCPU), there(config_of("small-cnn"), torch::kCUDA);
  here.train(0);
  there.train(0);
  here.engine.collapse_statistics();
  there.engine.collapse_statistics();
  ASSERT_TRUE(train::DeviceEvaluation::can_run(*there.test, *there.communicator));
  for (const auto protocol :
       {config::EvalConfig::Protocol::kClean, config::EvalConfig::Protocol::kPaper}) {
    train::DeviceEvaluation evaluation(there.engine.model(), *there.test, false);
    const auto statistics = models::copy_worker_statistics(there.engine.model(), 1);
    for (std::uint32_t epoch = 0; epoch < 5; ++epoch) {  // as it is, then recorded
      const train::EvaluationSpec spec{.protocol = protocol,
                                       .batch = 32,
                                       .hosted_workers = 4,
                                       .epoch = epoch,
                                       .mirror = epoch >= 2};
      const train::Evaluation expected =
          train::evaluate(here.engine.model(), *here.test, spec, *here.communicator);
      const train::Evaluation found = evaluation.evaluate(spec);
      EXPECT_NEAR(found.loss, expected.loss, 1e-3 * expected.loss);
      EXPECT_NEAR(found.accuracy, expected.accuracy, 2.3);  // two of ninety
    }
    EXPECT_TRUE(torch::equal(statistics, models::copy_worker_statistics(there.engine.model(), 1)));
    EXPECT_TRUE(there.engine.model().is_training());
  }
}

}  // namespace
}  // namespace impart

// Whole steps and evaluations on the GPU: what they compute is what the CPU does.

#include <algorithm>
#include <memory>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/core/error.h"
#include "impart/data/datasets.h"
#include "impart/models/images/models.h"
#include "impart/models/init.h"
#include "impart/models/layers/worker_statistics.h"
#include "impart/placement/epoch_order.h"
#include "impart/placement/heuristics.h"
#include "impart/train/device/device_evaluation.h"
#include "impart/train/engine.h"
#include "tests/cuda/gpu_test.h"

namespace impart {
namespace {

using testing::distance;

class DeviceStepsTest : public testing::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    at::globalContext().setDeterministicCuDNN(true);
  }
};

const data::ImageData& data() {
  static const data::ImageData loaded =
      data::load_data({.train_examples = 300, .test_examples = 90});
  return loaded;
}

config::RunConfig config_of(const std::string& model) {
  config::RunConfig config;
  config.model.name = model;
  config.workers.count = 4;
  config.workers.batch = 16;
  config.optimizer.lr = 0.02;
  config.importance.notion = "loss-variance";
  config.importance.record = {"forgetting", "margin", "grad-norm"};
  return config;
}

feed::EpochAugmentation augmentation(std::uint64_t examples) {
  return [examples](std::uint32_t epoch) {
    return data::crop_and_flip({.seed = 1, .epoch = epoch, .examples = examples});
  };
}

/// An engine and all it needs, on a device.
class Training {
 public:
  Training(const config::RunConfig& config, torch::Device device)
      : communicator(comm::make_single_communicator()),
        feed(feed::make_device_feed(feed::put_on_device(data().train, device), augmentation(300))),
        test(feed::make_device_feed(feed::put_on_device(data().test, device), augmentation(90))),
        engine({.config = config, .model = make_model(config, device), .feed = feed.get()},
               *communicator),
        config_(config) {}

  /// Trains an epoch, or only its first steps. Returns the signals.
  torch::Tensor train(std::uint32_t epoch, std::uint32_t steps = ~0u) {
    return train_selected(placement::kSelections[0], epoch, steps);
  }

  /// The same of what is selected, by a share that differs from epoch to epoch.
  torch::Tensor train_selected(const placement::SelectionEntry& selection, std::uint32_t epoch,
                               std::uint32_t steps = ~0u) {
    const std::vector<float> nothing(300);
    const placement::Parts parts =
        placement::shuffle_evenly(nothing, {.workers = 4, .seed = 3, .epoch = epoch}).parts();
    const placement::Selected selected =
        placement::select_visits(selection, {.parts = parts, .examples = 300},
                                 {.epoch = epoch, .share = std::max(0.0, 0.4 - 0.1 * epoch)});
    return train_visits(selected.visits, selected.weights, epoch, steps);
  }

  /// The same of given visits.
  torch::Tensor train_visits(const placement::Parts& visits, const std::vector<float>& weights,
                             std::uint32_t epoch, std::uint32_t steps = ~0u) {
    const placement::StepPlan plan(placement::order_visits(visits, {.epoch = epoch}),
                                   config_.workers.batch, placement::Uneven::kWeight);
    engine.begin_epoch(plan, epoch, 0, weights);
    for (std::uint32_t step = 0; step < std::min(plan.steps(), steps); ++step) {
      engine.run_step(step, config_.optimizer.lr);
    }
    engine.end_epoch();
    return engine.collected_signals();
  }

  torch::Tensor parameters() {
    std::vector<torch::Tensor> all;
    for (const auto& p : engine.model().parameters()) {
      all.push_back(p.detach().cpu().contiguous().flatten());
    }
    return torch::cat(all);
  }

  std::unique_ptr<comm::Communicator> communicator;
  std::unique_ptr<feed::Feed> feed, test;
  train::Engine engine;

 private:
  static std::shared_ptr<models::Classifier> make_model(const config::RunConfig& config,
                                                        torch::Device device) {
    auto model = find_entry(models::kModels, "model", config.model.name).function({.classes = 10});
    models::initialise_parameters(*model, 1);
    model->to(device);
    return model;
  }
  config::RunConfig config_;
};

constexpr std::uint32_t kEpochs = 3;  // the short last step is recorded, too

/// The losses of the first steps: later ones of deep networks differ as rounding errors grow.
double loss_distance(const torch::Tensor& a, const torch::Tensor& b, std::int64_t steps) {
  return distance(a[0].narrow(0, 0, 64 * steps), b[0].narrow(0, 0, 64 * steps));
}

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
  const auto state = there.engine.gather_state();
  const auto from = there.engine.model().parameters();
  auto to = resumed.engine.model().parameters();
  for (std::size_t i = 0; i < to.size(); ++i) {
    const torch::NoGradGuard no_grad;
    to[i].copy_(from[i]);
  }
  resumed.engine.restore_state([&](const std::string& name) {
    for (const auto& [known, tensor] : state) {
      if (known == name) return tensor;
    }
    return torch::Tensor();
  });
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
    for (std::uint32_t epoch = 0; epoch < 4; ++epoch) {  // as it is, then recorded
      const train::EvaluationSpec spec{
          .protocol = protocol, .batch = 32, .hosted_workers = 4, .epoch = epoch};
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

// Language models on the GPU: what they compute is what the CPU does.

#include <memory>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/feed/token_feed.h"
#include "impart/models/init.h"
#include "impart/models/layers/dropout.h"
#include "impart/models/text/text_layers.h"
#include "impart/models/text/text_models.h"
#include "impart/placement/epoch_order.h"
#include "impart/placement/heuristics.h"
#include "impart/train/engine.h"
#include "tests/cuda/gpu_test.h"
#include "tests/train/token_fixture.h"

namespace impart {
namespace {

using testing::distance;

class DeviceLanguage : public testing::GpuTest {};

constexpr std::uint32_t kExamples = 60, kWorkers = 4;

config::RunConfig config_of(config::RunConfig::Precision precision) {
  config::RunConfig config;
  config.model.name = "gpt-tiny";
  config.precision = precision;
  config.workers.count = kWorkers;
  config.workers.batch = 4;
  config.optimizer = {.name = config::OptimizerConfig::Name::kAdamw, .lr = 1e-3, .clip_norm = 1};
  config.importance.notion = "loss-average";
  config.importance.record = {"margin", "entropy", "el2n", "grad-norm"};
  return config;
}

/// An engine that trains a small GPT on random tokens, the last block short.
class Training {
 public:
  Training(const config::RunConfig& config, torch::Device device)
      : communicator_(comm::make_single_communicator()),
        feed_(feed::make_token_feed(testing::make_corpus(kExamples, 2), device)),
        engine_({.config = config, .model = make_model(config, device), .feed = feed_.get()},
                *communicator_),
        config_(config) {}

  /// Trains an epoch and returns its signals. Without weights all examples weigh 1.
  torch::Tensor train(std::uint32_t epoch = 0, const std::vector<float>& weights = {}) {
    const std::vector<float> nothing(kExamples);
    const placement::StepPlan plan(
        placement::order_epoch(
            placement::shuffle_evenly(nothing, {.workers = kWorkers, .epoch = epoch}),
            {.epoch = epoch}),
        config_.workers.batch, placement::Uneven::kWeight);
    engine_.begin_epoch(plan, epoch, 0, weights);
    for (std::uint32_t step = 0; step < plan.steps(); ++step) {
      engine_.run_step(step, config_.optimizer.lr);
    }
    engine_.end_epoch();
    return engine_.collected_signals();
  }

  torch::Tensor parameters() {
    std::vector<torch::Tensor> all;
    for (const auto& p : engine_.model().parameters()) all.push_back(p.detach().cpu().flatten());
    return torch::cat(all);
  }

 private:
  static std::shared_ptr<models::Classifier> make_model(const config::RunConfig& config,
                                                        torch::Device device) {
    auto model = find_entry(models::kTextModels, "model", config.model.name)
                     .function({.vocabulary = testing::kVocabulary,
                                .length = testing::kLength,
                                .dropout = config.model.dropout});
    models::initialise_parameters(*model, 1);
    model->to(device);
    return model;
  }
  std::unique_ptr<comm::Communicator> communicator_;
  std::unique_ptr<feed::Feed> feed_;
  train::Engine engine_;
  config::RunConfig config_;
};

TEST_F(DeviceLanguage, TrainsWhatTheCpuTrains) {
  auto config = config_of(config::RunConfig::Precision::kFp32);
  for (const double smoothing : {0.0, 0.2}) {
    config.optimizer.label_smoothing = smoothing;
    Training here(config, torch::kCPU), there(config, torch::kCUDA);
    const auto before = here.parameters();
    const auto expected = here.train(), signals = there.train();
    for (std::int64_t row = 0; row < expected.size(0); ++row) {
      EXPECT_LT(distance(signals[row], expected[row]), 1e-3) << "signal " << row;
    }
    EXPECT_LT(distance(there.parameters() - before, here.parameters() - before), 2e-2);
  }
}

/// What a layer of rate 0.3 makes of ones, and the gradient by its branch, on this device.
std::vector<torch::Tensor> drop(torch::Device device, torch::ScalarType type,
                                const std::vector<std::int64_t>& shape) {
  const auto plan = std::make_shared<models::DropoutPlan>(
      models::DropoutPlan{.seed = 0x1234567890,
                          .epoch = 3,
                          .step = 14,
                          .slices = {{WorkerId{2}, 3}, {WorkerId{3}, 0}, {WorkerId{300}, 2}}});
  if (device.is_cuda()) models::put_key_on_device(*plan, device);
  models::Dropout layer(0.3);
  layer->set_plan(plan, 5);
  const auto options = torch::TensorOptions(type).device(device);
  const auto branch = torch::ones(shape, options).requires_grad_(true);
  const auto trunk = torch::zeros(shape, options).requires_grad_(true);
  const auto sum = layer->add(trunk, branch), alone = layer->forward(branch);
  (sum.sum() + 2 * alone.sum()).backward();
  return {sum, alone, branch.grad(), trunk.grad()};
}

TEST_F(DeviceLanguage, DropsWhatTheHostDrops) {
  using Shape = std::vector<std::int64_t>;
  for (const Shape& shape : {Shape{5, 1}, Shape{5, 33}, Shape{5, 7, 128}, Shape{5, 100, 257}}) {
    for (const auto type : {torch::kFloat, torch::kBFloat16}) {
      const auto expected = drop(torch::kCPU, torch::kFloat, shape);
      const auto found = drop(torch::kCUDA, type, shape);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const auto values = found[i].cpu().to(torch::kFloat);
        EXPECT_TRUE(torch::equal(values.ne(0), expected[i].ne(0))) << i;
        EXPECT_TRUE(torch::allclose(values, expected[i], type == torch::kFloat ? 1e-6 : 4e-3)) << i;
      }
    }
  }
}

/// What a norm makes of rows, of a sum if `adds`, and all gradients, on this device.
std::vector<torch::Tensor> norm(torch::Device device, torch::ScalarType type, std::int64_t rows,
                                std::int64_t width, bool adds) {
  torch::manual_seed(1);
  const auto numbers = [&](std::int64_t count) {
    return torch::randn({count, width}).to(torch::kBFloat16).to(device, type);
  };
  models::LayerNorm layer(width);
  layer->to(device, type);
  const torch::NoGradGuard no_grad;
  layer->weight.copy_(numbers(1)[0]);
  layer->bias.copy_(numbers(1)[0]);
  const torch::AutoGradMode grad(true);
  const auto trunk = numbers(rows).requires_grad_(true);
  const auto branch = adds ? numbers(rows).requires_grad_(true) : torch::Tensor();
  const models::NormedSum found = layer->add(trunk, branch, models::Dropout(0.0));
  (found.normed * numbers(rows) + found.sum * numbers(rows)).sum().backward();
  std::vector<torch::Tensor> all{found.sum, found.normed, trunk.grad(), layer->weight.grad(),
                                 layer->bias.grad()};
  if (adds) all.push_back(branch.grad());
  return all;
}

TEST_F(DeviceLanguage, AddsAndNormsAsTheCpuDoes) {
  for (const std::int64_t width : {8, 128, 192, 768, 1000, 1024}) {
    for (const std::int64_t rows : {1, 7, 5000}) {
      for (const bool adds : {false, true}) {
        const auto expected = norm(torch::kCPU, torch::kFloat, rows, width, adds);
        for (const auto type : {torch::kFloat, torch::kBFloat16}) {
          const auto found = norm(torch::kCUDA, type, rows, width, adds);
          for (std::size_t i = 0; i < expected.size(); ++i) {
            EXPECT_LT(distance(found[i], expected[i]), type == torch::kFloat ? 1e-5 : 1e-2)
                << rows << " rows of " << width << ", tensor " << i;
          }
        }
      }
    }
  }
}

TEST_F(DeviceLanguage, TrainsWhatTheCpuTrainsWithDropoutAndWeights) {
  auto config = config_of(config::RunConfig::Precision::kFp32);
  config.model.dropout = 0.2;
  config.selection.strategy = "weights";
  std::vector<float> weights;
  for (std::uint32_t i = 0; i < kExamples; ++i)
    weights.push_back(0.5f + 0.02f * static_cast<float>(i));
  for (const char* model : {"gpt-tiny", "lstm"}) {
    SCOPED_TRACE(model);
    config.model.name = model;
    Training here(config, torch::kCPU), there(config, torch::kCUDA);
    const auto before = here.parameters();
    for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {  // as they are, recorded, replayed
      const auto expected = here.train(epoch, weights), signals = there.train(epoch, weights);
      for (std::int64_t row = 0; row < expected.size(0); ++row) {
        EXPECT_LT(distance(signals[row], expected[row]), 5e-3) << "signal " << row;
      }
    }
    EXPECT_LT(distance(there.parameters() - before, here.parameters() - before), 5e-2);
  }
}

TEST_F(DeviceLanguage, RecordedIsThatWhichIsNot) {
  auto config = config_of(config::RunConfig::Precision::kBf16);
  config.model.dropout = 0.1;
  Training recorded(config, torch::kCUDA);
  config.workers.micro_batch = 4;  // several passes a step, which are not recorded
  Training plain(config, torch::kCUDA);
  const auto before = plain.parameters();
  for (std::uint32_t epoch = 0; epoch < 4; ++epoch) {
    EXPECT_LT(distance(recorded.train(epoch)[0], plain.train(epoch)[0]), 1e-2);
  }
  EXPECT_LT(distance(recorded.parameters() - before, plain.parameters() - before), 0.3);
}

TEST_F(DeviceLanguage, OfWorkersApartIsThatOfTheCpu) {
  auto config = config_of(config::RunConfig::Precision::kFp32);
  config.model.dropout = 0.2;
  config.workers.sync = {.kind = config::SyncRule::Kind::kEverySteps, .steps = 2};
  Training here(config, torch::kCPU), there(config, torch::kCUDA);
  const auto before = here.parameters();
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
    EXPECT_LT(distance(there.train(epoch)[0], here.train(epoch)[0]), 5e-3);
  }
  EXPECT_LT(distance(there.parameters() - before, here.parameters() - before), 5e-2);
}

TEST_F(DeviceLanguage, InSeveralPassesIsThatInOne) {
  auto config = config_of(config::RunConfig::Precision::kFp32);
  Training one(config, torch::kCUDA);
  config.workers.micro_batch = 4;  // the gradients of the passes are added up
  Training several(config, torch::kCUDA);
  EXPECT_LT(distance(several.train()[0], one.train()[0]), 1e-4);
}

TEST_F(DeviceLanguage, InBfloat16StaysCloseToFloats) {
  for (const std::uint32_t micro_batch : {0u, 4u}) {
    auto config = config_of(config::RunConfig::Precision::kFp32);
    Training wide(config, torch::kCUDA);
    config.precision = config::RunConfig::Precision::kBf16;
    config.workers.micro_batch = micro_batch;
    Training narrow(config, torch::kCUDA);
    const auto before = wide.parameters();
    EXPECT_LT(distance(narrow.train()[0], wide.train()[0]), 1e-2);
    EXPECT_LT(distance(narrow.parameters() - before, wide.parameters() - before), 0.3);
  }
}

}  // namespace
}  // namespace impart

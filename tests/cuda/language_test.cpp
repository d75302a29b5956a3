// Language models on the GPU: what they compute is what the CPU does.

#include <memory>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/feed/token_feed.h"
#include "impart/models/init.h"
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
        engine_({.config = config, .model = make_model(device), .feed = feed_.get()},
                *communicator_),
        config_(config) {}

  torch::Tensor train() {
    const std::vector<float> nothing(kExamples);
    const placement::StepPlan plan(
        placement::order_epoch(placement::shuffle_evenly(nothing, {.workers = kWorkers}), {}),
        config_.workers.batch, placement::Uneven::kWeight);
    engine_.begin_epoch(plan, 0, 0);
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
  static std::shared_ptr<models::Classifier> make_model(torch::Device device) {
    auto model = find_entry(models::kTextModels, "model", "gpt-tiny")
                     .function({.vocabulary = testing::kVocabulary, .length = testing::kLength});
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

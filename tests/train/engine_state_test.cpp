// What an engine collects, keeps and gives back.

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/models/layers/worker_statistics.h"
#include "impart/models/state.h"
#include "impart/train/engine.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/engine_fixture.h"

namespace impart::train {
namespace {

using namespace testing;

TEST(Engine, CollectsTheSignalsOfEachVisit) {
  config::RunConfig config = plain();
  config.importance.notion = "confidence";
  const placement::StepPlan plan = make_plan({9, 4, 8, 3}, 4);
  Training run(config);
  run.train(plan, 1, 3, 0.0);  // without a learning rate every step has the same weights
  const auto visits = placement::visits_of(plan, {.first = 0, .count = kWorkers}, 1, 3);
  const auto signals = run.engine.collected_signals();
  ASSERT_EQ(signals.sizes(),
            (std::vector<std::int64_t>{3, static_cast<std::int64_t>(visits.ids.size())}));
  std::map<ExampleId, double> expected;
  Alone replica("small-cnn", run.parameters());
  for (std::uint32_t step = 1; step < 3; ++step) {
    for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
      const auto batch = plan.batch_of(WorkerId{worker}, step);
      if (batch.empty()) continue;
      const auto losses = replica.losses(batch);
      for (std::size_t i = 0; i < batch.size(); ++i) {
        expected[batch[i]] = losses[static_cast<std::int64_t>(i)].item<double>();
      }
    }
  }
  for (std::size_t row = 0; row < visits.ids.size(); ++row) {
    const auto at = static_cast<std::int64_t>(row);
    const double loss = expected.at(visits.ids[row]);
    EXPECT_NEAR(signals[SignalSet::kLossRow][at].item<double>(), loss, 1e-4);
    EXPECT_NEAR(signals[2][at].item<double>(), std::exp(-loss), 1e-4);
  }
}

TEST(Engine, HasCollectedAsManyRowsAsItHasTrained) {
  const placement::StepPlan plan = make_plan({9, 4, 8, 3}, 4);
  Training run(plain());
  run.train(plan, 0, 1, 0.1);
  EXPECT_EQ(run.engine.collected_signals().size(1), 15);
  run.engine.run_step(1, 0.1);
  EXPECT_EQ(run.engine.collected_signals().size(1), 23);
  run.engine.begin_epoch(plan, 0, 0);
  EXPECT_EQ(run.engine.collected_signals().size(1), 0);
}

/// Everything that training changes.
std::vector<torch::Tensor> copy_everything(Training& run) {
  std::vector<torch::Tensor> tensors = {run.parameters()};
  for (const auto& [name, tensor] : run.engine.gather_state()) tensors.push_back(tensor.clone());
  tensors.push_back(run.engine.collected_signals());
  return tensors;
}

void expect_to_go_on(const config::RunConfig& config) {
  const placement::StepPlan plan = make_plan({15, 12, 13, 10}, 3);
  Training straight(config);
  straight.train(plan, 0, 3, 0.05);
  const TemporaryFolder folder;
  models::save_model(folder / "model.safetensors", straight.engine.model());
  std::map<std::string, torch::Tensor> saved;
  for (const auto& [name, tensor] : straight.engine.gather_state()) saved[name] = tensor.clone();

  Training resumed(config, "small-cnn", 99);
  models::load_model(folder / "model.safetensors", resumed.engine.model());
  resumed.engine.restore_state([&](const std::string& name) { return saved.at(name); });
  for (Training* run : {&straight, &resumed}) {
    run->train(plan, 3, plan.steps(), 0.05);
    run->engine.end_epoch();
  }
  const auto expected = copy_everything(straight), found = copy_everything(resumed);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(torch::equal(found[i], expected[i])) << i;
  }
}

TEST(Engine, GoesOnBitForBitFromASavedState) {
  expect_to_go_on(with_momentum());
  expect_to_go_on(with_sync(with_momentum(), kEveryTwoSteps));
  expect_to_go_on(with_sync(with_momentum(), kAtTheEndOfTheEpoch));
  config::RunConfig outer = with_sync(with_momentum(), kEveryTwoSteps);
  outer.workers.outer = "nesterov";
  expect_to_go_on(outer);
  outer.workers.outer_overlap = true;
  expect_to_go_on(outer);
  outer.workers.sync_start = 1;
  expect_to_go_on(outer);
  config::RunConfig adamw = with_momentum();
  adamw.optimizer.name = config::OptimizerConfig::Name::kAdamw;
  expect_to_go_on(adamw);
  expect_to_go_on(with_sync(adamw, kAtTheEndOfTheEpoch));
  config::RunConfig shared = with_momentum();
  shared.workers.batch_norm = config::WorkersConfig::kWholeStep;
  expect_to_go_on(shared);
  shared.workers.batch_norm = 3;
  expect_to_go_on(shared);
  config::RunConfig exact = with_momentum();
  exact.workers.reduce = config::WorkersConfig::Reduce::kExact;
  const int threads = torch::get_num_threads();
  expect_to_go_on(exact);
  exact.workers.batch_norm = 3;
  expect_to_go_on(exact);
  torch::set_num_threads(threads);
}

TEST(Engine, HasAStateBeforeTheFirstStep) {
  Training first(with_momentum());
  std::map<std::string, torch::Tensor> saved;
  ASSERT_NO_THROW({
    for (const auto& [name, tensor] : first.engine.gather_state()) saved[name] = tensor.clone();
  });
  Training second(with_momentum());
  second.engine.restore_state([&](const std::string& name) { return saved.at(name); });
  const placement::StepPlan plan = make_plan({6, 6, 6, 6}, 6);
  for (Training* run : {&first, &second}) run->train(plan, 0, 1, 0.05);
  EXPECT_TRUE(torch::equal(first.parameters(), second.parameters()));
}

TEST(Engine, InfersTheLossOfEveryExampleInEvaluationMode) {
  Training run(with_momentum());
  run.train(make_plan({9, 4, 8, 3}, 4), 0, 3, 0.05);
  const std::vector<float> losses = run.engine.inference_losses(make_partition());
  ASSERT_EQ(losses.size(), static_cast<std::size_t>(kExamples));
  EXPECT_TRUE(run.engine.model().is_training());

  Alone direct("small-cnn", run.parameters());
  torch::Tensor statistics =
      models::copy_worker_statistics(run.engine.model(), 0) / double{kWorkers};
  for (std::uint32_t worker = 1; worker < kWorkers; ++worker) {
    statistics += models::copy_worker_statistics(run.engine.model(), worker) / double{kWorkers};
  }
  models::set_running_statistics(*direct.model, statistics);
  direct.model->eval();
  const auto images = make_images();
  const auto pixels = feed::make_batch(images, torch::arange(kExamples)).to(torch::kDouble);
  const auto logits = direct.model->forward(pixels).logits;
  for (std::int64_t i = 0; i < kExamples; ++i) {
    const auto loss = logits[i].logsumexp(0) - logits[i][images.labels[i]];
    EXPECT_NEAR(double{losses[i]}, loss.item<double>(), 1e-4);
  }
}

torch::Tensor running_statistics_of(models::Classifier& model) {
  std::vector<torch::Tensor> pieces;
  models::visit_batch_norms(model, [&](const std::string&, models::WorkerBatchNorm2dImpl& layer) {
    pieces.push_back(layer.running_mean);
    pieces.push_back(layer.running_var);
  });
  return torch::cat(pieces);
}

TEST(Engine, EvaluatesByTheMeanOfTheWorkersStatisticsOrThoseOfTheFirst) {
  for (const auto which : {config::WorkersConfig::RunningStats::kMean,
                           config::WorkersConfig::RunningStats::kWorker0}) {
    config::RunConfig config = plain();
    config.workers.running_stats = which;
    Training run(config);
    run.train(make_plan({9, 4, 8, 3}, 4), 0, 3, 0.05);
    std::vector<torch::Tensor> rows;
    for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
      rows.push_back(models::copy_worker_statistics(run.engine.model(), worker));
    }
    run.engine.collapse_statistics();
    const auto found = running_statistics_of(run.engine.model());
    const auto mean = torch::stack(rows).mean(0);
    const bool is_mean = which == config::WorkersConfig::RunningStats::kMean;
    EXPECT_LT(relative_distance(found, is_mean ? mean : rows[0]), 1e-6);
    EXPECT_GT(relative_distance(found, is_mean ? rows[0] : mean), 1e-3);
    EXPECT_TRUE(torch::equal(models::copy_worker_statistics(run.engine.model(), 3), rows[3]));
  }
}

}  // namespace
}  // namespace impart::train

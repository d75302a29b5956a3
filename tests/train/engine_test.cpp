// Steps: what the workers of an engine train is what separate replicas would.

#include "impart/train/engine.h"

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/models/layers/worker_statistics.h"
#include "tests/train/engine_fixture.h"

namespace impart::train {
namespace {

using namespace testing;

/// One for each worker, all with the parameters that training starts from.
std::vector<Alone> make_replicas(const std::string& name, const torch::Tensor& parameters) {
  std::vector<Alone> replicas;
  for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
    replicas.emplace_back(name, parameters);
  }
  return replicas;
}

/// The mean of the replicas' gradients, weighted by their examples.
torch::Tensor averaged_gradient(std::vector<Alone>& replicas, const placement::StepPlan& plan,
                                std::uint32_t step, std::span<const float> weights = {}) {
  torch::Tensor sum = torch::zeros_like(parameters_of(*replicas[0].model));
  for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
    const auto batch = plan.batch_of(WorkerId{worker}, step);
    if (batch.empty()) continue;
    sum += replicas[worker].gradient(batch, weights) * static_cast<double>(batch.size());
  }
  return sum / static_cast<double>(plan.examples_in(step));
}

void expect_statistics_of(Training& run, std::vector<Alone>& replicas) {
  for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
    const auto together = models::copy_worker_statistics(run.engine.model(), worker);
    const auto alone = models::copy_worker_statistics(*replicas[worker].model, 0);
    EXPECT_LT(relative_distance(together, alone), 1e-5) << "worker " << worker;
  }
}

void expect_step_of_replicas(const std::string& model, const std::vector<std::uint64_t>& sizes) {
  const placement::StepPlan plan = make_plan(sizes, 8);
  ASSERT_EQ(plan.steps(), 1u);
  Training run(plain(), model);
  const auto before = run.parameters();
  run.train(plan, 0, 1, 1.0);
  auto replicas = make_replicas(model, before);
  const auto gradient = averaged_gradient(replicas, plan, 0);
  EXPECT_LT(relative_distance(run.parameters() - before, -gradient), 1e-5) << model;
  expect_statistics_of(run, replicas);
}

TEST(Engine, StepOfStackedWorkersIsThatOfSeparateReplicas) {
  expect_step_of_replicas("small-cnn", {6, 6, 6, 6});
  expect_step_of_replicas("resnet18", {6, 6, 6, 6});
}

TEST(Engine, StepOfUnevenWorkersIsThatOfSeparateReplicas) {
  expect_step_of_replicas("small-cnn", {8, 3, 1, 6});
  expect_step_of_replicas("small-cnn", {0, 5, 0, 2});
  expect_step_of_replicas("resnet18", {8, 4, 6, 5});
}

/// Some 0, some above 1.
std::vector<float> make_weights() {
  std::vector<float> weights;
  for (std::int64_t id = 0; id < kExamples; ++id) weights.push_back(static_cast<float>(id % 4) / 2);
  return weights;
}

TEST(Engine, WeighsTheGradientOfEveryExampleAndDividesByTheRows) {
  const placement::StepPlan plan = make_plan({8, 3, 1, 6}, 8);
  const std::vector<float> weights = make_weights();
  config::RunConfig exact = plain(), small_passes = plain();
  exact.workers.reduce = config::WorkersConfig::Reduce::kExact;
  small_passes.workers.micro_batch = 8;
  for (const config::RunConfig& config : {plain(), exact, small_passes}) {
    Training run(config);
    const auto before = run.parameters();
    run.train(plan, 0, 1, 1.0, weights);
    auto replicas = make_replicas("small-cnn", before);
    const auto gradient = averaged_gradient(replicas, plan, 0, weights);
    EXPECT_LT(relative_distance(run.parameters() - before, -gradient), 1e-5);
  }
}

TEST(Engine, WeighsInReplicasOfTheirOwn) {
  const placement::StepPlan plan = make_plan({4, 4, 4, 4}, 4);
  const std::vector<float> weights = make_weights();
  Training run(with_sync(plain(), kAtTheEndOfTheEpoch));
  const auto before = run.parameters();
  run.train(plan, 0, 1, 1.0, weights);
  run.engine.end_epoch();
  auto replicas = make_replicas("small-cnn", before);
  const auto gradient = averaged_gradient(replicas, plan, 0, weights);
  EXPECT_LT(relative_distance(run.parameters() - before, -gradient), 1e-5);
}

TEST(Engine, CollectsSignalsThatDoNotKnowOfWeights) {
  const placement::StepPlan plan = make_plan({8, 3, 1, 6}, 8);
  Training weighted(plain()), unweighted(plain());
  weighted.train(plan, 0, 1, 1.0, make_weights());
  unweighted.train(plan, 0, 1, 1.0);
  EXPECT_TRUE(
      torch::equal(weighted.engine.collected_signals(), unweighted.engine.collected_signals()));
}

TEST(Engine, MeasuresListedExamplesWithoutTraining) {
  Training run(plain());
  const auto before = run.parameters();
  const placement::Parts lists = make_order({3, 0, 2, 1});
  const MeasuredExamples measured = run.engine.measure(lists);
  EXPECT_EQ(measured.ids.size(), 6u);
  EXPECT_TRUE(torch::equal(run.parameters(), before));
  const std::vector<float> losses = run.engine.inference_losses(make_partition());
  for (std::size_t i = 0; i < measured.ids.size(); ++i) {
    EXPECT_NEAR(measured.values[i], losses[index(measured.ids[i])], 1e-5);
  }
}

TEST(Engine, TrainsWorkersWithoutRowsInTheLastStep) {
  const placement::StepPlan plan = make_plan({9, 4, 8, 3}, 4);
  ASSERT_EQ(plan.steps(), 3u);
  Training run(plain());
  const auto before = run.parameters();
  run.train(plan, 0, 3, 0.1);
  auto replicas = make_replicas("small-cnn", before);
  auto values = before;
  for (std::uint32_t step = 0; step < 3; ++step) {
    values = values - 0.1 * averaged_gradient(replicas, plan, step);
    for (Alone& replica : replicas) set_parameters(*replica.model, values);
  }
  EXPECT_LT(relative_distance(run.parameters() - before, values - before), 1e-5);
  expect_statistics_of(run, replicas);
}

TEST(Engine, GivesTheSameInMicroBatches) {
  const placement::StepPlan plan = make_plan({9, 6, 8, 3}, 6);
  Training whole(plain());
  const auto before = whole.parameters();
  whole.train(plan, 0, 2, 0.1);
  for (const std::uint32_t micro_batch : {1u, 12u, 14u}) {
    config::RunConfig config = plain();
    config.workers.micro_batch = micro_batch;
    Training run(config);
    run.train(plan, 0, 2, 0.1);
    EXPECT_LT(relative_distance(run.parameters() - before, whole.parameters() - before), 1e-5);
    EXPECT_LT(relative_distance(run.engine.collected_signals(), whole.engine.collected_signals()),
              1e-5);
    for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
      EXPECT_LT(relative_distance(models::copy_worker_statistics(run.engine.model(), worker),
                                  models::copy_worker_statistics(whole.engine.model(), worker)),
                1e-5);
    }
  }
}

TEST(Engine, NormalisesTheWholeStepIfBatchNormIsShared) {
  config::RunConfig config = plain();
  config.workers.batch_norm = config::WorkersConfig::kWholeStep;
  const placement::StepPlan plan = make_plan({6, 3, 5, 4}, 6);
  Training run(config);
  const auto before = run.parameters();
  run.train(plan, 0, 1, 1.0);
  Alone one("small-cnn", before);
  const auto ids = placement::visits_of(plan, {.first = 0, .count = kWorkers}, 0, 1).ids;
  EXPECT_LT(relative_distance(run.parameters() - before, -one.gradient(ids)), 1e-5);
}

/// The gradient of a step whose workers first..end-1 are normalised together, for each such pair.
torch::Tensor gradient_of_groups(
    const torch::Tensor& parameters, const placement::StepPlan& plan,
    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& groups) {
  torch::Tensor sum = torch::zeros_like(parameters);
  for (const auto& [first, end] : groups) {
    Alone together("small-cnn", parameters);
    const auto ids = placement::visits_of(plan, {.first = first, .count = end - first}, 0, 1).ids;
    sum += together.gradient(ids) * static_cast<double>(ids.size());
  }
  return sum / static_cast<double>(plan.examples_in(0));
}

TEST(Engine, NormalisesGroupsOfNeighboursTogether) {
  config::RunConfig config = plain();
  const placement::StepPlan plan = make_plan({6, 3, 5, 4}, 6);
  const auto step = [&](std::uint32_t group, std::uint32_t micro_batch) {
    config.workers.batch_norm = group;
    config.workers.micro_batch = micro_batch;
    Training run(config);
    const auto before = run.parameters();
    run.train(plan, 0, 1, 1.0);
    return run.parameters() - before;
  };
  const auto before = Training(config).parameters();
  for (const std::uint32_t micro_batch : {0, 1, 10}) {
    SCOPED_TRACE(micro_batch);
    EXPECT_LT(relative_distance(step(2, micro_batch),
                                -gradient_of_groups(before, plan, {{0, 2}, {2, 4}})),
              1e-5);
    EXPECT_LT(relative_distance(step(3, micro_batch),
                                -gradient_of_groups(before, plan, {{0, 3}, {3, 4}})),
              1e-5);
  }
}

TEST(Engine, SharesStatisticsExactly) {
  const int threads = torch::get_num_threads();
  const placement::StepPlan plan = make_plan({9, 4, 8, 3}, 4);
  for (const std::uint32_t group : {config::WorkersConfig::kWholeStep, 2U, 3U}) {
    SCOPED_TRACE(group);
    config::RunConfig config = with_momentum();
    config.workers.batch_norm = group;
    Training fast(config);
    const auto before = fast.parameters();
    fast.train(plan, 0, 3, 0.1);
    config.workers.reduce = config::WorkersConfig::Reduce::kExact;
    Training exact(config);
    exact.train(plan, 0, 3, 0.1);
    EXPECT_LT(relative_distance(exact.parameters() - before, fast.parameters() - before), 1e-4);
    EXPECT_LT(relative_distance(models::list_worker_statistics(exact.engine.model()),
                                models::list_worker_statistics(fast.engine.model())),
              1e-5);
    EXPECT_LT(relative_distance(exact.engine.collected_signals(), fast.engine.collected_signals()),
              1e-4);
  }
  torch::set_num_threads(threads);
}

TEST(Engine, PoolsRunningStatisticsWithTheSpreadOfTheirMeans) {
  config::RunConfig config = plain();
  config.workers.running_stats = config::WorkersConfig::RunningStats::kPooled;
  Training run(config);
  run.train(make_plan({6, 6, 6, 6}, 6), 0, 1, 0.1);
  run.engine.collapse_statistics();
  models::visit_batch_norms(
      run.engine.model(), [](const std::string&, models::WorkerBatchNorm2dImpl& layer) {
        const auto means = layer.worker_mean(), variances = layer.worker_variance();
        EXPECT_LT(relative_distance(layer.running_mean, means.mean(0)), 1e-6);
        EXPECT_LT(relative_distance(layer.running_var,
                                    variances.mean(0) + means.var(0, /*unbiased=*/false)),
                  1e-6);
      });
}

TEST(Engine, ReducesExactlyToTheSameWeights) {
  config::RunConfig config = with_momentum();
  const placement::StepPlan plan = make_plan({9, 4, 8, 3}, 4);
  const int threads = torch::get_num_threads();
  Training fast(config);
  const auto before = fast.parameters();
  fast.train(plan, 0, 3, 0.1);
  config.workers.reduce = config::WorkersConfig::Reduce::kExact;
  Training first(config), second(config);
  first.train(plan, 0, 3, 0.1);
  second.train(plan, 0, 3, 0.1);
  torch::set_num_threads(threads);
  EXPECT_LT(relative_distance(first.parameters() - before, fast.parameters() - before), 1e-5);
  EXPECT_TRUE(torch::equal(first.parameters(), second.parameters()));
  EXPECT_TRUE(torch::equal(first.engine.collected_signals(), second.engine.collected_signals()));
}

}  // namespace
}  // namespace impart::train

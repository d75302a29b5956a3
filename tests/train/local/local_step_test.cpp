// Workers that train apart: what they come to is what separate replicas and a published outer rule
// would, and a worker that goes wrong is named.

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/placement/outers.h"
#include "impart/train/diverged.h"
#include "impart/train/engine.h"
#include "tests/train/engine_fixture.h"
#include "tests/train/local/apart_reference.h"

namespace impart::train {
namespace {

using namespace testing;

config::RunConfig apart(config::SyncRule sync, const std::string& outer = "average") {
  config::RunConfig config = with_sync(with_momentum(), sync);
  config.optimizer.lr = 0.05;
  config.workers.outer = outer;
  return config;
}

config::RunConfig with_adamw(config::RunConfig config) {
  config.optimizer.name = config::OptimizerConfig::Name::kAdamw;
  config.optimizer.lr = 0.01;
  config.optimizer.epsilon = 1e-2;  // noise of a gradient that is zero does not count
  return config;
}

torch::Tensor train_epoch(const config::RunConfig& config, const placement::StepPlan& plan) {
  Training run(config);
  run.train(plan, 0, plan.steps(), config.optimizer.lr);
  run.engine.end_epoch();
  return run.parameters();
}

void expect_as_published(const config::RunConfig& config, const placement::StepPlan& plan) {
  const auto before = Training(config).parameters();
  const auto& rule = config::outer_rule(config.workers);
  ApartReference reference(config, before,
                           {.rule = config.workers.outer,
                            .lr = config.workers.outer_lr.value_or(rule.lr),
                            .momentum = config.workers.outer_momentum.value_or(rule.momentum)});
  std::vector<Alone> replicas;
  for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
    replicas.emplace_back("small-cnn", before);
  }
  const auto gradient = [&](std::uint32_t worker, std::uint32_t step, const torch::Tensor& values) {
    set_parameters(*replicas[worker].model, values);
    return replicas[worker].gradient(plan.batch_of(WorkerId{worker}, step));
  };
  const auto expected = reference.train(plan, gradient, config.optimizer.lr);
  EXPECT_LT(relative_distance(train_epoch(config, plan) - before, expected - before), 1e-5)
      << config.workers.outer;
}

/// 6 steps.
placement::StepPlan uneven() {
  return make_plan({17, 6, 12, 3}, 3);
}

TEST(LocalStep, AveragesAtTheEndOfTheEpochByVisits) {
  expect_as_published(apart(kAtTheEndOfTheEpoch), make_plan({9, 6, 12, 3}, 3));
}

TEST(LocalStep, TrainsTheReplicaWhoseRowsTheyAre) {
  // In the second step worker 0 has no row and worker 1 a single one.
  expect_as_published(apart(kAtTheEndOfTheEpoch), make_plan({3, 4, 3, 4}, 3));
}

TEST(LocalStep, TakesThreeOuterStepsAsPublished) {
  for (const placement::OuterEntry& rule : placement::kOuters) {
    const config::RunConfig config = apart(kEveryTwoSteps, std::string(rule.name));
    expect_as_published(config, uneven());
    expect_as_published(with_adamw(config), uneven());
  }
}

TEST(LocalStep, TakesTheRatesOfTheConfig) {
  config::RunConfig config = apart(kEveryTwoSteps, "nesterov");
  config.workers.outer_lr = 0.3;
  config.workers.outer_momentum = 0.5;
  expect_as_published(config, uneven());
  EXPECT_GT(relative_distance(train_epoch(config, uneven()),
                              train_epoch(apart(kEveryTwoSteps, "nesterov"), uneven())),
            1e-3);
}

TEST(LocalStep, DelaysOuterStepsByAStretchIfTheyOverlap) {
  for (const std::uint64_t longest :
       {17, 20}) {  // 6 and 7 steps: the last stretch is whole, or not
    for (const placement::OuterEntry& rule : placement::kOuters) {
      config::RunConfig config = apart(kEveryTwoSteps, std::string(rule.name));
      config.workers.outer_overlap = true;
      expect_as_published(config, make_plan({longest, 6, 12, 3}, 3));
    }
  }
}

TEST(LocalStep, NesterovWithoutMomentumIsTheAverageBitForBit) {
  for (const bool exact : {false, true}) {
    config::RunConfig plain = apart(kEveryTwoSteps), outer = apart(kEveryTwoSteps, "nesterov");
    outer.workers.outer_lr = 1;
    outer.workers.outer_momentum = 0;
    if (exact) {
      plain.workers.reduce = outer.workers.reduce = config::WorkersConfig::Reduce::kExact;
    }
    const int threads = torch::get_num_threads();
    EXPECT_TRUE(torch::equal(train_epoch(plain, uneven()), train_epoch(outer, uneven())));
    torch::set_num_threads(threads);
  }
}

TEST(LocalStep, AveragesGradientsUntilModelsComeApart) {
  config::RunConfig config = apart(kEveryTwoSteps, "nesterov");
  config.workers.sync_start = 1;
  config::RunConfig together = config;
  together.workers = {.count = kWorkers};
  const placement::StepPlan plan = make_plan({9, 6, 12, 3}, 3);
  Training first(together), both(config);
  for (Training* run : {&first, &both}) {
    run->train(plan, 0, plan.steps(), 0.05);
    run->engine.end_epoch();
    EXPECT_TRUE(run->engine.syncs().empty());
  }
  EXPECT_TRUE(torch::equal(first.parameters(), both.parameters()));
  for (Training* run : {&first, &both}) {
    run->engine.begin_epoch(plan, 1, 0);
    for (std::uint32_t step = 0; step < plan.steps(); ++step) run->engine.run_step(step, 0.05);
    run->engine.end_epoch();
  }
  EXPECT_EQ(both.engine.syncs().size(), 2u);
  EXPECT_GT(relative_distance(both.parameters(), first.parameters()), 1e-4);
}

TEST(LocalStep, MeasuresHowFarWorkersCameApart) {
  config::RunConfig config = apart(kEveryTwoSteps);
  const placement::StepPlan plan = uneven();
  Training run(config);
  run.train(plan, 0, 6, 0.05);
  run.engine.end_epoch();
  const auto syncs = run.engine.syncs();
  ASSERT_EQ(syncs.size(), 3u);
  for (std::size_t i = 0; i < syncs.size(); ++i) {
    EXPECT_EQ(syncs[i].step, 2 * (i + 1));
    EXPECT_GT(syncs[i].divergence, 1e-4);
    EXPECT_LT(syncs[i].divergence, 1);
  }
  config.optimizer.lr = 0;
  Training still(config);
  still.train(plan, 0, 2, 0.0);
  ASSERT_EQ(still.engine.syncs().size(), 1u);
  EXPECT_LT(still.engine.syncs()[0].divergence, 1e-6);
}

TEST(LocalStep, ShowsTheWeightsOfAWorkerAndThenTheCommonOnes) {
  Training run(apart(kAtTheEndOfTheEpoch));
  const auto before = run.parameters();
  const placement::StepPlan plan = uneven();
  run.train(plan, 0, 1, 0.05);
  EXPECT_TRUE(torch::equal(run.parameters(), before));
  Alone alone("small-cnn", before);
  for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
    run.engine.show_worker(worker);
    set_parameters(*alone.model, before);
    const auto gradient = alone.gradient(plan.batch_of(WorkerId{worker}, 0)) + 0.01 * before;
    EXPECT_LT(relative_distance(run.parameters() - before, -0.05 * 1.9 * gradient), 1e-4);
  }
  run.engine.show_worker(std::nullopt);
  EXPECT_TRUE(torch::equal(run.parameters(), before));
}

/// Weights of examples that make a worker's loss NaN in its second step.
std::vector<float> spoil(const placement::StepPlan& plan, std::uint32_t worker) {
  std::vector<float> weights(kExamples, 1.0f);
  const ExampleId victim = plan.batch_of(WorkerId{worker}, 1)[0];
  weights[index(victim)] = std::numeric_limits<float>::quiet_NaN();
  return weights;
}

TEST(LocalStep, NamesTheWorkerWhoseWeightsAreNoNumbersInsteadOfAveragingThem) {
  const placement::StepPlan plan = make_plan({12, 9, 10, 9}, 3);
  const std::vector<float> weights = spoil(plan, 2);
  Training run(apart(kAtTheEndOfTheEpoch));
  const auto before = run.parameters();
  run.train(plan, 0, plan.steps(), 0.05, weights);
  try {
    run.engine.end_epoch();
    FAIL() << "nobody noticed";
  } catch (const Diverged& error) {
    // The weight is no part of the loss that is seen: the step after it shows the NaN.
    EXPECT_NE(std::string(error.what())
                  .find("epoch 1: weights are no longer finite: worker 2 "
                        "(step 3); "),
              std::string::npos)
        << error.what();
  }
  EXPECT_TRUE(torch::equal(run.parameters(), before));
}

TEST(LocalStep, OnlyNotesItIfTheRunIsToGoOn) {
  const placement::StepPlan plan = make_plan({12, 9, 10, 9}, 3);
  const std::vector<float> weights = spoil(plan, 1);
  config::RunConfig config = apart(kAtTheEndOfTheEpoch);
  config.train.stop_on_nan = false;
  std::vector<std::string> notes;
  const auto communicator = comm::make_single_communicator();
  const auto feed = feed::make_device_feed(testing::make_images(), testing::augment);
  Engine engine({.config = config,
                 .model = testing::make_model("small-cnn"),
                 .feed = feed.get(),
                 .note = [&](const std::string& note) { notes.push_back(note); }},
                *communicator);
  engine.begin_epoch(plan, 0, 0, weights);
  for (std::uint32_t step = 0; step < plan.steps(); ++step) engine.run_step(step, 0.05);
  EXPECT_NO_THROW(engine.end_epoch());
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("worker 1"), std::string::npos) << notes[0];
}

}  // namespace
}  // namespace impart::train

#include "impart/train/update/learning_rate.h"

#include <gtest/gtest.h>

namespace impart::train {
namespace {

using Schedule = config::OptimizerConfig::Schedule;

double rate_at(const config::OptimizerConfig& optimizer, double progress) {
  return learning_rate(optimizer, progress, 10, 4);
}

TEST(LearningRate, StaysConstantByDefault) {
  for (const double progress : {0.0, 0.25, 5.0, 9.75}) {
    EXPECT_DOUBLE_EQ(rate_at({.lr = 0.3}, progress), 0.3);
  }
}

TEST(LearningRate, DropsInSteps) {
  const config::OptimizerConfig optimizer{
      .lr = 0.8, .schedule = Schedule::kStep, .step_epochs = 3, .step_factor = 0.5};
  EXPECT_DOUBLE_EQ(rate_at(optimizer, 0), 0.8);
  EXPECT_DOUBLE_EQ(rate_at(optimizer, 2.75), 0.8);
  EXPECT_DOUBLE_EQ(rate_at(optimizer, 3), 0.4);
  EXPECT_DOUBLE_EQ(rate_at(optimizer, 5.75), 0.4);
  EXPECT_DOUBLE_EQ(rate_at(optimizer, 9), 0.1);
}

TEST(LearningRate, FollowsHalfACosineToItsEnd) {
  const config::OptimizerConfig optimizer{
      .lr = 1.0, .schedule = Schedule::kCosine, .final_lr_factor = 0.2};
  EXPECT_DOUBLE_EQ(rate_at(optimizer, 0), 1.0);
  EXPECT_NEAR(rate_at(optimizer, 2.5), 0.6 + 0.4 * 0.70710678118654752, 1e-12);
  EXPECT_NEAR(rate_at(optimizer, 5), 0.6, 1e-12);
  EXPECT_NEAR(rate_at(optimizer, 10), 0.2, 1e-12);
}

TEST(LearningRate, FollowsALineToItsEnd) {
  const config::OptimizerConfig optimizer{.lr = 0.5, .schedule = Schedule::kLinear};
  EXPECT_DOUBLE_EQ(rate_at(optimizer, 0), 0.5);
  EXPECT_DOUBLE_EQ(rate_at(optimizer, 4), 0.3);
  EXPECT_NEAR(rate_at(optimizer, 9.75), 0.0125, 1e-12);
  EXPECT_NEAR(rate_at(optimizer, 10), 0.0, 1e-12);
}

TEST(LearningRate, RisesInTheWarmUpStepByStepToTheFullRate) {
  const config::OptimizerConfig optimizer{.lr = 0.8, .warmup_epochs = 2};
  for (int step = 0; step < 8; ++step) {
    EXPECT_NEAR(rate_at(optimizer, step / 4.0), 0.1 * (step + 1), 1e-12);
  }
  EXPECT_DOUBLE_EQ(rate_at(optimizer, 2), 0.8);
}

TEST(LearningRate, RunsItsScheduleOverWhatComesAfterTheWarmUp) {
  config::OptimizerConfig optimizer{.lr = 0.8,
                                    .schedule = Schedule::kLinear,
                                    .warmup_epochs = 2,
                                    .step_epochs = 4,
                                    .step_factor = 0.1};
  EXPECT_DOUBLE_EQ(rate_at(optimizer, 2), 0.8);
  EXPECT_NEAR(rate_at(optimizer, 6), 0.4, 1e-12);
  optimizer.schedule = Schedule::kCosine;
  EXPECT_NEAR(rate_at(optimizer, 6), 0.4, 1e-12);
  optimizer.schedule = Schedule::kStep;
  EXPECT_DOUBLE_EQ(rate_at(optimizer, 5.75), 0.8);
  EXPECT_NEAR(rate_at(optimizer, 6), 0.08, 1e-12);
}

TEST(LearningRate, IsFiniteWhereTheWarmUpIsTheWholeRun) {
  for (const Schedule schedule :
       {Schedule::kConstant, Schedule::kStep, Schedule::kCosine, Schedule::kLinear}) {
    const config::OptimizerConfig optimizer{.lr = 0.8, .schedule = schedule, .warmup_epochs = 10};
    EXPECT_NEAR(rate_at(optimizer, 9.75), 0.8, 1e-12);
  }
}

}  // namespace
}  // namespace impart::train

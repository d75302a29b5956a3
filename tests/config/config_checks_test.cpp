#include <functional>

#include <gtest/gtest.h>

#include "impart/config/config_file.h"
#include "tests/config/messages.h"

namespace impart::config {
namespace {

std::string error_after(const std::function<void(RunConfig&)>& change) {
  RunConfig config;
  change(config);
  return testing::config_error([&] { validate(config); });
}

TEST(ConfigChecks, AcceptTheDefaults) {
  EXPECT_NO_THROW(validate(RunConfig{}));
}

TEST(ConfigChecks, FindValuesOutOfRangeInConfigsThatNoFileWasReadFor) {
  EXPECT_EQ(error_after([](RunConfig& c) { c.workers.count = 0; }),
            "workers.count: '0' is out of range; allowed: 1 to 1048576");
  EXPECT_EQ(error_after([](RunConfig& c) { c.workers.batch = 0; }),
            "workers.batch: '0' is out of range; allowed: 1 or more");
  EXPECT_EQ(error_after([](RunConfig& c) { c.epochs = 0; }),
            "epochs: '0' is out of range; allowed: 1 to 1000000");
  EXPECT_EQ(error_after([](RunConfig& c) { c.exchange.fraction = -0.5; }),
            "exchange.fraction: '-0.5' is out of range; allowed: 0 to 1");
  EXPECT_EQ(error_after([](RunConfig& c) { c.optimizer.lr = 0.0 / 0.0; }).substr(0, 12),
            "optimizer.lr");
  EXPECT_NE(error_after([](RunConfig& c) {
              c.workers.sync = {SyncRule::Kind::kEverySteps, 0};
            }),
            "");
  EXPECT_NE(error_after([](RunConfig& c) { c.device = static_cast<RunConfig::Device>(9); }), "");
  EXPECT_EQ(error_after([](RunConfig& c) { c.partition.heuristic = "strips"; }),
            "partition.heuristic: unknown heuristic 'strips', did you mean 'stripes'?");
}

TEST(ConfigChecks, FindSchedulesThatCannotBe) {
  EXPECT_EQ(
      error_after([](RunConfig& c) { c.partition.warmup = 11; }),
      "partition.warmup is 11, but epochs is 10; warm up for fewer epochs, or train for more");
  EXPECT_EQ(error_after([](RunConfig& c) { c.importance.ignore = 3; }),
            "importance.ignore 3, partition.warmup 3, interval 3: ignoring the first 3 epochs "
            "leaves none to learn the importance from before the repartitioning at epoch 4; ignore "
            "fewer, or warm up longer");
  EXPECT_EQ(error_after([](RunConfig& c) {
              c.importance.ignore = 3;
              c.partition.heuristic = "random";
            }),
            "");
  EXPECT_EQ(error_after([](RunConfig& c) {
              c.importance.ignore = 3;
              c.importance.notion = "truth";
            }),
            "");
  EXPECT_EQ(error_after([](RunConfig& c) { c.optimizer.warmup_epochs = 11; }),
            "optimizer.warmup_epochs is 11, but epochs is 10");
}

TEST(ConfigChecks, FindExchangesThatCannotBe) {
  const auto local = [](RunConfig& c) {
    c.exchange.strategy = "is-pair";
    c.partition = {.heuristic = "random", .warmup = 0, .interval = 0};
  };
  EXPECT_EQ(error_after(local), "");
  EXPECT_EQ(error_after([&](RunConfig& c) {
              local(c);
              c.workers.count = 1;
            }),
            "exchange.strategy: is-pair needs workers.count of 2 or more");
  EXPECT_EQ(error_after([&](RunConfig& c) {
              local(c);
              c.exchange.fraction = 0;
            }),
            "exchange.strategy: is-pair needs exchange.fraction above 0");
  EXPECT_EQ(error_after([&](RunConfig& c) {
              local(c);
              c.partition.interval = 1;
            }),
            "exchange.strategy: is-pair would never exchange: with epochs 10, partition.warmup 0 "
            "and partition.interval 1 every epoch starts with a new partition");
  EXPECT_EQ(error_after([&](RunConfig& c) {
              local(c);
              c.exchange.strategy = "balance-pair";
            }),
            "exchange.strategy: balance-pair exchanges by importance from epoch 2 on, but "
            "importance.ignore is 1; ignore fewer epochs");
  EXPECT_EQ(error_after([&](RunConfig& c) {
              local(c);
              c.exchange.strategy = "balance-pair";
              c.importance.ignore = 0;
            }),
            "");
}

TEST(ConfigChecks, FindOptionsThatContradictEachOther) {
  EXPECT_EQ(error_after([](RunConfig& c) { c.optimizer.momentum = 0; }),
            "optimizer.nesterov: true needs optimizer.momentum above 0");
  EXPECT_EQ(error_after([](RunConfig& c) {
              c.optimizer.momentum = 0;
              c.optimizer.name = OptimizerConfig::Name::kAdamw;
            }),
            "");
  EXPECT_NE(error_after([](RunConfig& c) {
              c.workers.batch_norm = WorkersConfig::kWholeStep;
              c.workers.sync.kind = SyncRule::Kind::kEpoch;
            }),
            "");
  EXPECT_NE(error_after([](RunConfig& c) {
              c.device = RunConfig::Device::kCpu;
              c.precision = RunConfig::Precision::kTf32;
            }),
            "");
}

TEST(ConfigChecks, FillInTheNameOfTheRunDirectory) {
  RunConfig config;
  config.name = "x";
  config.seed = 7;
  config.output = "{seed}/{name}/{seed}/plain";
  EXPECT_EQ(expand_output(config), "7/x/7/plain");
  EXPECT_EQ(error_after([](RunConfig& c) { c.output = "runs/{date}"; }),
            "output: unknown placeholder '{date}'; allowed: {name}, {seed}");
  EXPECT_EQ(error_after([](RunConfig& c) { c.output = "runs/{name"; }),
            "output: unknown placeholder '{name'; allowed: {name}, {seed}");
  EXPECT_NE(error_after([](RunConfig& c) { c.name = "a/b"; }), "");
  EXPECT_NE(error_after([](RunConfig& c) { c.name = ""; }), "");
  EXPECT_NE(error_after([](RunConfig& c) { c.output = ""; }), "");
}

}  // namespace
}  // namespace impart::config

#include "impart/cost/statistics_cost.h"

#include <gtest/gtest.h>

namespace impart::cost {
namespace {

constexpr double kRow = 2 * 8 * 224;  // two doubles for each channel of small-cnn

double bytes_of(std::uint32_t workers, std::uint32_t group, std::uint32_t processes,
                bool exact = false) {
  using Reduce = config::WorkersConfig::Reduce;
  config::RunConfig config;
  config.model.name = "small-cnn";
  config.workers.count = workers;
  config.workers.batch_norm = group;
  config.workers.reduce = exact ? Reduce::kExact : Reduce::kFast;
  return statistics_bytes_per_step(config, processes);
}

TEST(StatisticsCost, IsNothingWhereNothingTravels) {
  EXPECT_EQ(bytes_of(8, 1, 8), 0);
  EXPECT_EQ(bytes_of(8, 4, 2), 0);
  EXPECT_EQ(bytes_of(8, config::WorkersConfig::kWholeStep, 1), 0);
  config::RunConfig config;
  config.workers = {.count = 8, .batch_norm = config::WorkersConfig::kWholeStep};
  config.model.norm = config::Norm::kGroup;
  EXPECT_EQ(statistics_bytes_per_step(config, 8), 0);
  config.model = {.name = "mlp"};
  EXPECT_EQ(statistics_bytes_per_step(config, 8), 0);
}

TEST(StatisticsCost, IsAnAllReduceIfAllShare) {
  // 2 (P-1)/P rows from each of P processes, forward and backward.
  EXPECT_DOUBLE_EQ(bytes_of(8, config::WorkersConfig::kWholeStep, 4), 2 * 2 * 3 * kRow);
  EXPECT_DOUBLE_EQ(bytes_of(8, 100, 4), 2 * 2 * 3 * kRow);
}

TEST(StatisticsCost, IsARowToEachOtherProcessOfAGroup) {
  EXPECT_DOUBLE_EQ(bytes_of(8, 4, 8), 2 * 2 * (4 * 3) * kRow);
  EXPECT_DOUBLE_EQ(bytes_of(8, 3, 2), 2 * (2 * 1) * kRow);  // 0 1 2, 3 | 4 5, 6 7
}

TEST(StatisticsCost, IsARowOfEachWorkerIfItIsExact) {
  EXPECT_DOUBLE_EQ(bytes_of(8, config::WorkersConfig::kWholeStep, 4, true), 2 * 8 * 3 * kRow);
  EXPECT_DOUBLE_EQ(bytes_of(8, 3, 2, true), 2 * 3 * 1 * kRow);
}

TEST(StatisticsCost, IsWaitedForTwicePerNorm) {
  config::RunConfig config;
  config.model.name = "small-cnn";
  config.workers = {.count = 8, .batch_norm = config::WorkersConfig::kWholeStep};
  const SharedStatistics all = shared_statistics(config, 4);
  EXPECT_EQ(all.sums, 2 * 3);
  EXPECT_EQ(all.nodes, 4);
  EXPECT_DOUBLE_EQ(all.bytes, 2 * kRow);
  config.workers.batch_norm = 4;  // two processes have the workers of a group
  EXPECT_EQ(shared_statistics(config, 4).nodes, 2);
  EXPECT_EQ(shared_statistics(config, 2).nodes, 1);
  config.model.norm = config::Norm::kGroup;
  EXPECT_EQ(shared_statistics(config, 4).nodes, 1);
}

}  // namespace
}  // namespace impart::cost

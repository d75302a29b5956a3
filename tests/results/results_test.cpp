#include "impart/results/results.h"

#include <cmath>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/results/result_groups.h"
#include "impart/results/run_results.h"
#include "tests/support/temporary_folder.h"

namespace impart::results {
namespace {

using testing::message_of;
using testing::TemporaryFolder;

TEST(Results, NamesAreShortAndSayWhatDiffers) {
  EXPECT_EQ(short_name({{"data.name", "cifar10"},
                        {"partition.heuristic", "stripes"},
                        {"partition.warmup", "20"},
                        {"partition.interval", "30"},
                        {"partition.sticky", "false"},
                        {"optimizer.lr", "0.1"}}),
            "stripes W20 I30 lr=0.1");
  EXPECT_EQ(short_name({{"partition.heuristic", "random"}, {"partition.interval", "1"}}),
            "vanilla");
  EXPECT_EQ(short_name({}), "all runs");
}

TEST(Results, ArmsOfDifferentDataAreNotCompared) {
  std::vector<ArmResults> arms;
  for (const char* data : {"cifar10", "cifar100"}) {
    for (const char* heuristic : {"random", "stripes"}) {
      arms.push_back({.name = heuristic,
                      .settings = {{"data.name", data},
                                   {"partition.heuristic", heuristic},
                                   {"partition.interval", "1"}}});
    }
  }
  auto groups = group_arms(std::move(arms));
  choose_baselines(
      groups, [](const ArmResults& arm) { return is_vanilla(arm.settings); }, "");
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].name, "cifar10");
  EXPECT_EQ(groups[1].arms.size(), 2U);
  EXPECT_EQ(groups[1].baseline, 0U);
}

TEST(Results, ARunWithoutAnEndIsNoResult) {
  const TemporaryFolder folder;
  EXPECT_EQ(message_of<DataError>([&] { read_run(folder.path()); }), "empty");
  folder.write("notes.txt", "x");
  EXPECT_NE(message_of<DataError>([&] { read_run(folder.path()); }).find("not a run directory"),
            std::string::npos);
  folder.write("config.yaml", "seed: 1\n");
  EXPECT_NE(message_of<DataError>([&] { read_run(folder.path()); }).find("before its first epoch"),
            std::string::npos);
}

TEST(Results, AFinishedRunGivesSummaryAndEpochs) {
  const TemporaryFolder folder;
  folder.write("DONE", "");
  folder.write("summary.json", R"({"best_accuracy": 81.5, "seed": 3, "config_hash": "ab"})");
  folder.write("metrics.jsonl",
               "{\"epoch\":0,\"test_accuracy\":80.5,\"dissimilarity\":9.5,\"seconds\":2}\n"
               "{\"epoch\":1,\"test_accuracy\":null,\"seconds\":3,"
               "\"placement\":{\"event\":\"heuristic\"}}\n");
  const RunResult run = read_run(folder.path(), "ab");
  EXPECT_EQ(run.number("best_accuracy"), 81.5);
  EXPECT_EQ(run.number("worst_accuracy"), std::nullopt);
  EXPECT_EQ(run.seed, 3U);
  ASSERT_EQ(run.epochs.size(), 2U);
  EXPECT_EQ(run.epochs[1].seconds, 5);
  EXPECT_TRUE(run.epochs[1].repartitioned);
  EXPECT_FALSE(run.epochs[1].test_accuracy == run.epochs[1].test_accuracy) << "NaN";
  EXPECT_EQ(run.epochs[0].dissimilarity, 9.5);
  EXPECT_TRUE(std::isnan(run.epochs[1].dissimilarity)) << "not measured";
  EXPECT_NE(message_of<DataError>([&] { read_run(folder.path(), "cd"); }).find("the study's is cd"),
            std::string::npos);
}

TEST(Results, ConfigurationsAreFlattened) {
  const SettingTexts settings = flatten_config("seed: 1\npartition: {warmup: 3}\nlist: [a, b]\n");
  EXPECT_EQ(setting(settings, "partition.warmup"), "3");
  EXPECT_EQ(setting(settings, "list"), "[a, b]");
  EXPECT_EQ(setting(settings, "none"), "");
}

TEST(Results, EveryItemIsWorkedOnOnceAndErrorsArrive) {
  std::vector<int> done(1000);
  for_each_in_parallel(done.size(), [&](std::size_t i) { ++done[i]; });
  EXPECT_EQ(std::count(done.begin(), done.end(), 1), 1000);
  EXPECT_THROW(for_each_in_parallel(10, [](std::size_t) { throw DataError("no"); }), DataError);
}

}  // namespace
}  // namespace impart::results

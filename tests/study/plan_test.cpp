#include "impart/study/plan.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/study/halving.h"
#include "impart/study/status.h"
#include "tests/support/temporary_folder.h"

namespace impart::study {
namespace {

using testing::TemporaryFolder;

StudyPlan plan_of(const std::string& path, const std::vector<std::string>& overrides = {}) {
  const config::Schema schema = config::make_schema();
  return make_plan(load_study(path, overrides, schema), schema);
}

StudyPlan plan_from_text(const std::string& text) {
  const TemporaryFolder folder;
  return plan_of(folder.write("s.yaml", text));
}

Finding nothing(const StudyRun&) {
  return {};
}

TEST(StudyHalving, RungsGrowUntilTheFullLength) {
  EXPECT_EQ(rung_epochs({.eta = 3, .min_epochs = 2}, 20),
            (std::vector<std::uint32_t>{2, 6, 18, 20}));
  EXPECT_EQ(rung_epochs({.eta = 2, .min_epochs = 8}, 8), (std::vector<std::uint32_t>{8}));
  EXPECT_THROW(rung_epochs({.eta = 2, .min_epochs = 9}, 8), ConfigError);
}

TEST(StudyHalving, KeepsTheBestAndNeverAFailedOne) {
  const std::vector<CandidateScore> scores = {{"a", 1.0}, {"b", {}}, {"c", 3.0}, {"d", 1.0}};
  EXPECT_EQ(keep_best(scores, 2, true), (std::vector<std::string>{"c", "a"}));
  EXPECT_EQ(keep_best(scores, 4, false), (std::vector<std::string>{"a", "d", "c"}));
}

constexpr const char* kSearch =
    "config: {epochs: 8, partition.heuristic: random, partition.warmup: 0}\nseeds: [1, 2]\n"
    "arms: {base: {baseline: true}}\ngrid: {optimizer.lr: [0.2, 0.3, 0.4, 0.5]}\n"
    "search: {kind: halving, eta: 2, min_epochs: 2}\nconfirmation_seeds: [8, 9]\n";

TEST(StudyPlan, ASearchUnfoldsRungByRung) {
  const StudyPlan plan = plan_from_text(kSearch);
  const StudyRecord first = unfold(plan, nothing);
  EXPECT_EQ(first.runs.size(), 8u);
  EXPECT_EQ(first.runs[0].folder, "runs/lr-0-2/search-2/1");
  EXPECT_FALSE(first.search->winner);
  // The larger the learning rate, the better.
  const StudyRecord last = unfold(plan, [&](const StudyRun& run) -> Finding {
    return {.is_settled = true, .value = config_of(plan, run).optimizer.lr};
  });
  ASSERT_EQ(last.search->rungs.size(), 2u);
  EXPECT_EQ(last.search->rungs[1].arms, (std::vector<std::string>{"lr=0.5", "lr=0.4"}));
  EXPECT_EQ(last.search->winner, "lr=0.5");
  EXPECT_EQ(last.runs.size(), 8u + 4u + 4u);
  EXPECT_EQ(last.runs.back().purpose, RunPurpose::kConfirm);
  EXPECT_EQ(last.runs.back().epochs, 8u);
  std::set<std::string> folders;
  for (const StudyRun& run : last.runs) EXPECT_TRUE(folders.insert(run.folder).second);
  EXPECT_TRUE(std::equal(first.runs.begin(), first.runs.end(), last.runs.begin()));
}

constexpr const char* kGrowing =
    "arms: {base: {baseline: true}, a: {optimizer.lr: 0.2}, b: {optimizer.lr: 0.3}}\n"
    "config: {partition.heuristic: random, partition.warmup: 0}\n"
    "seeds: {until: 1, at_most: 40, at_least: 5}\n";

/// Differences to the baseline alternate between +spread and -spread.
Finding alternating(const StudyPlan& plan, const StudyRun& run, double spread) {
  const auto& seeds = plan.record.seeds;
  const auto place = std::find(seeds.begin(), seeds.end(), run.seed) - seeds.begin();
  const double step = run.arm == "b" ? spread : run.arm == "a" ? 0.1 : 0.0;
  return {.is_settled = true, .value = 90 + (place % 2 == 0 ? step : -step)};
}

TEST(StudyPlan, SeedsGrowFromLookToLookUntilTheWidestIntervalIsNarrow) {
  const StudyPlan plan = plan_from_text(kGrowing);
  EXPECT_EQ(unfold(plan, nothing).runs.size(), 15u);
  EXPECT_EQ(unfold(plan, nothing).seeds.size(), 5u);
  // With spread 1: t of 9 degrees at 0.05 / 4 looks / 2 arms is 3.5465, times √(10/9)/√10.
  const StudyRecord record =
      unfold(plan, [&](const StudyRun& run) { return alternating(plan, run, 1); });
  ASSERT_EQ(record.growing->taken.size(), 3u);
  EXPECT_EQ(record.growing->taken[1].seeds, 10u);
  EXPECT_NEAR(*record.growing->taken[1].half_width, 1.18217, 1e-4);
  EXPECT_EQ(record.growing->taken[2].arm, "b");
  EXPECT_TRUE(record.growing->is_narrow_enough());
  EXPECT_EQ(record.seeds.size(), 20u);
  EXPECT_EQ(record.runs.size(), 60u);
  const StudyRecord wide =
      unfold(plan, [&](const StudyRun& run) { return alternating(plan, run, 10); });
  EXPECT_EQ(wide.seeds.size(), 40u);
  EXPECT_TRUE(wide.growing->is_settled());
  EXPECT_FALSE(wide.growing->is_narrow_enough());
  EXPECT_TRUE(std::equal(record.runs.begin(), record.runs.end(), wide.runs.begin()));
}

TEST(StudyPlan, SeedsDoNotGrowWhileALookWaitsForARun) {
  const StudyPlan plan = plan_from_text(kGrowing);
  const StudyRecord record = unfold(plan, [&](const StudyRun& run) -> Finding {
    if (run.seed == plan.record.seeds[7] && run.arm == "a") return {};
    return alternating(plan, run, 1);
  });
  EXPECT_EQ(record.growing->taken.size(), 1u);
  EXPECT_EQ(record.seeds.size(), 10u);
}

TEST(StudyPlan, SeedsGrowOnlyToCompareWithABaseline) {
  const auto complaint = [](const std::string& arms) {
    return testing::message_of<ConfigError>(
        [&] { plan_from_text("arms: " + arms + "\nseeds: {until: 1, at_most: 40}\n"); });
  };
  EXPECT_EQ(complaint("{a: , b: {optimizer.lr: 0.2}}"),
            "seeds: until is about differences to a baseline: mark an arm with baseline: true");
  EXPECT_EQ(complaint("{a: {baseline: true}}"), "seeds: until needs arms besides the baseline");
}

TEST(StudyPlan, ARecordReadsBackAsItWas) {
  const TemporaryFolder folder;
  const StudyPlan plan = plan_from_text(kSearch);
  const StudyRecord written = unfold(plan, [](const StudyRun& run) -> Finding {
    return {true, run.epochs * 1.0};
  });
  write_study(folder.path(), written);
  const StudyRecord read = read_study(folder.path());
  EXPECT_EQ(read.runs, written.runs);
  EXPECT_EQ(read.baseline, written.baseline);
  EXPECT_EQ(read.seeds, written.seeds);
  EXPECT_EQ(read.confirmation_seeds, written.confirmation_seeds);
  EXPECT_EQ(read.search->winner, written.search->winner);
  EXPECT_EQ(read.arms[1].settings, written.arms[1].settings);
  EXPECT_FALSE(read.growing);
}

TEST(StudyPlan, LooksReadBackAsTheyWere) {
  const TemporaryFolder folder;
  const StudyPlan plan = plan_from_text(kGrowing);
  StudyRecord written =
      unfold(plan, [&](const StudyRun& run) { return alternating(plan, run, 1); });
  written.growing->taken.push_back({.seeds = 40, .arm = "", .half_width = {}});
  write_study(folder.path(), written);
  const StudyRecord read = read_study(folder.path());
  EXPECT_EQ(read.growing->until, 1);
  EXPECT_EQ(read.growing->planned, written.growing->planned);
  EXPECT_EQ(read.growing->taken, written.growing->taken);
}

TEST(StudyPlan, HasABoundedNumberOfRuns) {
  const std::string message = testing::message_of<ConfigError>([] {
    plan_from_text(
        "grid: {partition.warmup: {from: 3, to: 103}}\nseeds: {count: 10000}\n"
        "config: {epochs: 200, partition.interval: 3}\n");
  });
  EXPECT_EQ(message, "101 arms with 10000 seeds are 1010000 runs; at most 1000000");
}

TEST(StudyPlan, ARecordOfAnotherFormatIsRefusedBriefly) {
  const testing::TemporaryFolder folder;
  const auto complaint = [&](const std::string& format) {
    folder.write("study.json", "{\"format\": " + format + "}");
    return testing::message_of<DataError>([&] { read_study(folder.path()); });
  };
  const std::string path = folder / "study.json";
  EXPECT_EQ(complaint("2"), path + ": is of format 2, but only 1 is known");
  EXPECT_LT(complaint("\"" + std::string(1 << 20, 'x') + "\"").size(), 500u);
  EXPECT_NE(complaint(std::string(300'000, '[') + std::string(300'000, ']')).find("nested deeper"),
            std::string::npos);
}

TEST(StudyStatus, ComparesOverTheSeedsThatBothHave) {
  StudyRecord record{.name = "s",
                     .baseline = "a",
                     .target = {},
                     .seeds = {1, 2},
                     .confirmation_seeds = {},
                     .arms = {{"a", {}}, {"b", {}}},
                     .runs = {},
                     .search = {}};
  for (const std::uint64_t seed : {1, 2}) {
    for (const char* arm : {"a", "b"}) {
      record.runs.push_back(
          {.arm = arm, .seed = seed, .folder = "", .config_hash = "", .epochs = 4});
    }
  }
  const auto done = [](double value) {
    return RunReport{.state = Standing::kDone, .value = value, .seconds = 8, .epochs_done = 4};
  };
  const std::vector<RunReport> reports = {
      done(10), done(13), {.state = Standing::kRunning, .epochs_done = 1}, done(15)};
  const StudyStatus status = summarise(record, reports);
  ASSERT_EQ(status.stages.size(), 1u);
  const ArmStatus& b = status.stages[0].arms[1];
  EXPECT_EQ(b.mean, 14);
  EXPECT_EQ(b.deviation, std::sqrt(2.0));
  EXPECT_EQ(b.difference, 3);
  EXPECT_EQ(status.stages[0].best, 1u);
  EXPECT_EQ(status.counts.running, 1u);
  EXPECT_EQ(seconds_left(record, reports, 2), 6);
  EXPECT_EQ(seconds_left(record, std::vector<RunReport>(4), 2), std::nullopt);
}

TEST(StudyPresets, AllMakeSenseAndHaveABaseline) {
  std::size_t count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(IMPART_SOURCE_DIR "/presets/studies")) {
    const StudyPlan plan = plan_of(entry.path().string());
    EXPECT_TRUE(plan.record.baseline) << entry.path();
    EXPECT_EQ(plan.record.name, entry.path().stem()) << entry.path();
    ++count;
  }
  EXPECT_EQ(count, 11u);
}

TEST(StudyPresets, HoldTheTablesOfThePaper) {
  for (const std::string table : {"cifar10-resnet18-stripes", "cifar10-resnet18-blocks",
                                  "cifar10-resnet34-stripes", "cifar100-resnet34-stripes"}) {
    const StudyPlan plan = plan_of(IMPART_SOURCE_DIR "/presets/studies/dais-" + table + ".yaml");
    EXPECT_EQ(plan.arms.size(), 37u) << table;
    EXPECT_EQ(plan.record.seeds.size(), 10u);
    EXPECT_EQ(unfold(plan, nothing).runs.size(), 370u);
    EXPECT_EQ(plan.arms[0].config.epochs, 100u);
  }
}

}  // namespace
}  // namespace impart::study

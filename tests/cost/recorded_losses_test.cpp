#include "impart/cost/recorded_losses.h"

#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "impart/core/column_file.h"
#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/importance/importance_table.h"
#include "tests/support/temporary_folder.h"

namespace impart::cost {
namespace {

using testing::message_of;
using testing::TemporaryFolder;

/// A run of three examples, of which the second epoch visited two.
struct RecordingRun {
  TemporaryFolder folder = {};

  RecordingRun() {
    importance::ImportanceTable table(
        {.examples = 3, .notions = importance::notions_named({"loss-last"}), .history = true});
    const std::vector<ExampleId> ids = {ExampleId{0}, ExampleId{1}, ExampleId{2}};
    const std::vector<float> losses = {1, 2, 3};
    table.observe(0, ids, {.loss = losses});
    table.observe(1, std::span(ids).first(2), {.loss = std::span(losses).last(2)});
    importance::write_history(folder / "history.npy", table);
    write_file(folder / "config.yaml",
               "workers: {count: 2}\nepochs: 2\npartition: {warmup: 1}\nimportance: {ignore: 0}\n");
    write_file(folder / "summary.json", R"({"examples": 3, "payload_bytes_total": 31})");
    const std::vector<std::uint32_t> labels = {0, 1, 0};
    write_integers(folder / "labels.npy", "label", labels);
  }

  RecordedLosses read() const { return read_recorded_losses(folder.path()); }
};

TEST(RecordedLosses, SayWhatTheRunFoundAndOfWhat) {
  const RecordedLosses losses = RecordingRun().read();
  EXPECT_EQ(losses.examples, 3u);
  EXPECT_EQ(losses.workers, 2u);
  ASSERT_EQ(losses.by_epoch.size(), 2u);
  EXPECT_EQ(losses.by_epoch[0], (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(losses.by_epoch[1][0], 2);
  EXPECT_TRUE(std::isnan(losses.by_epoch[1][2]));
  EXPECT_EQ(losses.labels, (std::vector<std::uint32_t>{0, 1, 0}));
  EXPECT_DOUBLE_EQ(losses.payload_bytes.value(), 31.0 / 3);
}

TEST(RecordedLosses, OfDataWithoutClassesHaveNone) {
  const RecordingRun run;
  std::filesystem::remove(run.folder / "labels.npy");
  EXPECT_TRUE(run.read().labels.empty());
}

TEST(RecordedLosses, ARunThatRecordedNoneIsToldHow) {
  const RecordingRun run;
  std::filesystem::remove(run.folder / "history.npy");
  const std::string message = message_of<ConfigError>([&] { run.read(); });
  EXPECT_NE(message.find("importance.history=true"), std::string::npos) << message;
}

TEST(RecordedLosses, DamagedFilesAreRefused) {
  const auto complaint = [](auto&& damage) {
    const RecordingRun run;
    damage(run);
    return message_of<DataError>([&] { run.read(); });
  };
  const auto cut = [](const RecordingRun& run) {
    std::filesystem::resize_file(run.folder / "history.npy", 140);
  };
  EXPECT_NE(complaint(cut).find("truncated"), std::string::npos);
  const auto one_column = [](const RecordingRun& run) {
    const std::vector<float> losses = {1, 2, 3};
    write_scores(run.folder / "history.npy", "", std::span<const float>(losses));
  };
  EXPECT_NE(complaint(one_column).find("not float32 of shape (examples, epochs)"),
            std::string::npos);
  const auto others = [](const RecordingRun& run) {
    write_file(run.folder / "summary.json", R"({"examples": 4})");
  };
  EXPECT_NE(complaint(others).find("is of 3 examples; summary.json says 4"), std::string::npos);
  const auto no_run = [](const RecordingRun& run) {
    std::filesystem::remove(run.folder / "config.yaml");
  };
  EXPECT_NE(complaint(no_run).find("is no run directory"), std::string::npos);
}

}  // namespace
}  // namespace impart::cost

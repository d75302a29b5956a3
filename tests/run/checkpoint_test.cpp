#include "impart/run/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "tests/support/temporary_folder.h"

namespace impart::run {
namespace {

namespace fs = std::filesystem;
using testing::read_text;
using testing::TemporaryFolder;

void write_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

/// A finished checkpoint of two small files; returns its folder.
std::string write_checkpoint(const TemporaryFolder& run, std::uint64_t step,
                             std::uint32_t keep = 9) {
  CheckpointWriter writer(run.path(), step);
  write_file(writer.path("state.json"), "{\"step\": " + std::to_string(step) + "}\n");
  write_file(writer.path("model.bin"), std::string("\0\1\2weights", 10));
  writer.finish(keep);
  return run / ("checkpoints/step-" + std::string(10 - std::to_string(step).size(), '0') +
                std::to_string(step));
}

/// Names in the folder of checkpoints, hidden ones too, sorted.
std::vector<std::string> names_in(const TemporaryFolder& run) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(run / "checkpoints")) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::string> find_quietly(const TemporaryFolder& run) {
  return find_checkpoint(run.path(), [](const std::string& message) { FAIL() << message; });
}

TEST(Checkpoint, IsFoundAsItWasWritten) {
  const TemporaryFolder run;
  const std::string folder = write_checkpoint(run, 12);
  EXPECT_EQ(find_quietly(run), folder);
  EXPECT_NO_THROW(verify_checkpoint(folder));
  EXPECT_EQ(read_text(folder + "/state.json"), "{\"step\": 12}\n");
  EXPECT_EQ(read_text(folder + "/model.bin"), std::string("\0\1\2weights", 10));
  EXPECT_EQ(names_in(run), std::vector<std::string>{"step-0000000012"});
}

TEST(Checkpoint, IsNotFoundWhereThereIsNone) {
  const TemporaryFolder run;
  EXPECT_EQ(find_quietly(run), std::nullopt);
}

TEST(Checkpoint, FoundIsTheNewestByStep) {
  const TemporaryFolder run;
  write_checkpoint(run, 9);
  const std::string newest = write_checkpoint(run, 100);
  write_checkpoint(run, 20);
  EXPECT_EQ(find_quietly(run), newest);
}

TEST(Checkpoint, OlderOnesThanToBeKeptGoAway) {
  const TemporaryFolder run;
  for (const std::uint64_t step : {1, 2, 3, 4}) write_checkpoint(run, step, 2);
  EXPECT_EQ(names_in(run), (std::vector<std::string>{"step-0000000003", "step-0000000004"}));
  write_checkpoint(run, 5, 0);
  EXPECT_EQ(names_in(run), std::vector<std::string>{"step-0000000005"});
}

TEST(Checkpoint, ReplacesOneOfTheSameStep) {
  const TemporaryFolder run;
  const std::string folder = write_checkpoint(run, 3);
  write_file(folder + "/model.bin", "damaged");
  fs::create_directory(folder + "/left over");
  write_checkpoint(run, 3);
  EXPECT_EQ(find_quietly(run), folder);
  EXPECT_FALSE(fs::exists(folder + "/left over"));
}

TEST(Checkpoint, UnfinishedIsNotFoundAndGoesAway) {
  const TemporaryFolder run;
  const std::string finished = write_checkpoint(run, 1);
  {
    CheckpointWriter writer(run.path(), 2);
    write_file(writer.path("model.bin"), "half of it");
    EXPECT_EQ(find_quietly(run), finished);
    EXPECT_EQ(names_in(run).size(), 2u);
  }
  EXPECT_EQ(names_in(run), std::vector<std::string>{"step-0000000001"});
}

TEST(Checkpoint, DoesNotTakeOverWhatAKilledProcessLeft) {
  const TemporaryFolder run;
  std::string left;
  {
    const CheckpointWriter writer(run.path(), 2);
    left = fs::path(writer.path("x")).parent_path();
  }
  fs::create_directories(left);
  write_file(left + "/stale.bin", "of an earlier process");
  EXPECT_EQ(find_quietly(run), std::nullopt);
  const std::string folder = write_checkpoint(run, 2);
  EXPECT_FALSE(fs::exists(folder + "/stale.bin"));
  EXPECT_EQ(names_in(run), std::vector<std::string>{"step-0000000002"});
}

TEST(Checkpoint, LeavesNothingBehindWhenItFails) {
  const TemporaryFolder run;
  const std::string earlier = write_checkpoint(run, 1);
  {
    CheckpointWriter writer(run.path(), 2);
    write_file(writer.path("model.bin"), "weights");
    fs::create_directory(writer.path("not a file"));
    EXPECT_THROW(writer.finish(1), Error);
  }
  EXPECT_EQ(names_in(run), std::vector<std::string>{"step-0000000001"});
  EXPECT_EQ(find_quietly(run), earlier);
}

TEST(Checkpoint, SaysWhereItCannotBeMade) {
  const TemporaryFolder run;
  const std::string file = run.write("file", "");
  EXPECT_THROW(CheckpointWriter(file, 1), IoError);
}

TEST(Checkpoint, NoticesEveryFlippedBit) {
  const TemporaryFolder run;
  const std::string folder = write_checkpoint(run, 7);
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  ASSERT_EQ(paths.size(), 3u);
  for (const std::string& path : paths) {
    const std::string content = read_text(path);
    for (std::size_t at = 0; at < content.size(); ++at) {
      for (const int flip : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
        std::string damaged = content;
        damaged[at] = static_cast<char>(damaged[at] ^ flip);
        write_file(path, damaged);
        EXPECT_THROW(verify_checkpoint(folder), DataError)
            << path << ", byte " << at << ", flip " << flip;
      }
    }
    write_file(path, content);
    EXPECT_NO_THROW(verify_checkpoint(folder));
  }
}

TEST(Checkpoint, NoticesMissingShortAndLongFiles) {
  const TemporaryFolder run;
  for (const char* name : {"model.bin", "manifest.json"}) {
    const std::string path = write_checkpoint(run, 7) + "/" + name;
    const std::string folder = fs::path(path).parent_path();
    const std::string content = read_text(path);
    write_file(path, content.substr(0, content.size() / 2));
    EXPECT_THROW(verify_checkpoint(folder), DataError) << name;
    write_file(path, content + "}");
    EXPECT_THROW(verify_checkpoint(folder), DataError) << name;
    fs::remove(path);
    EXPECT_THROW(verify_checkpoint(folder), DataError) << name;
  }
}

TEST(Checkpoint, DamagedIsSkippedWithAMessageForTheNextOlderOne) {
  const TemporaryFolder run;
  write_checkpoint(run, 1);
  const std::string whole = write_checkpoint(run, 2);
  const std::string damaged = write_checkpoint(run, 3);
  const std::string without_manifest = write_checkpoint(run, 4);
  write_file(damaged + "/model.bin", std::string("\0\1\2wEights", 10));
  fs::remove(without_manifest + "/manifest.json");
  std::vector<std::string> messages;
  const auto found =
      find_checkpoint(run.path(), [&](const std::string& message) { messages.push_back(message); });
  EXPECT_EQ(found, whole);
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_NE(messages[0].find(without_manifest), std::string::npos) << messages[0];
  EXPECT_NE(messages[1].find(damaged + "/model.bin"), std::string::npos) << messages[1];
}

TEST(Checkpoint, JustWrittenSurvivesANewerDamagedOne) {
  const TemporaryFolder run;
  write_checkpoint(run, 20);
  const std::string damaged = write_checkpoint(run, 30);
  write_file(damaged + "/model.bin", "damaged");
  const std::string written = write_checkpoint(run, 25, 1);
  EXPECT_EQ(find_checkpoint(run.path(), [](const std::string&) {}), written);
}

}  // namespace
}  // namespace impart::run

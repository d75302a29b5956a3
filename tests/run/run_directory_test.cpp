#include "impart/run/run_directory.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "impart/core/error.h"
#include "impart/run/run_files.h"
#include "tests/support/temporary_folder.h"

namespace impart::run {
namespace {

using testing::message_of;
using testing::TemporaryFolder;

/// A folder with all that a run may have left, marked or as older versions left it.
std::string make_run(const TemporaryFolder& folder, bool marked) {
  std::string path = folder / "run";
  if (marked) const RunDirectory run(path, EarlierRun::kRefuse);
  std::filesystem::create_directories(path);
  write_environment(path, {});
  for (const char* name :
       {"config.yaml", "metrics.jsonl", "ledger.jsonl", "summary.json", "DONE", "log.txt",
        "task.lock", "events.out.tfevents.0000000001.0000", "partitions/epoch-0000.csv",
        "checkpoints/step-0000000040/manifest.json", "checkpoints/step-0000000040/partition.npy",
        "checkpoints/.unfinished-step-0000000080/model.safetensors", "summary.json.77.tmp",
        "report/report.html", "report/figures/curves.svg"}) {
    folder.write("run/" + std::string(name), "");
  }
  return path;
}

std::size_t count_inside(const std::string& path) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::recursive_directory_iterator(path), {}));
}

TEST(RunDirectory, IsMarkedByItsFirstFile) {
  const TemporaryFolder folder;
  const RunDirectory run(folder / "a/run", EarlierRun::kRefuse);
  EXPECT_EQ(testing::read_text(folder / "a/run/run.lock"),
            "impart run directory\n" + std::to_string(::getpid()) + "\n");
}

TEST(RunDirectory, IsKnownToBeWrittenWhileItIs) {
  const TemporaryFolder folder;
  EXPECT_FALSE(RunDirectory::is_written(folder / "run"));
  {
    const RunDirectory run(folder / "run", EarlierRun::kRefuse);
    EXPECT_TRUE(RunDirectory::is_written(folder / "run"));
  }
  EXPECT_FALSE(RunDirectory::is_written(folder / "run"));
}

TEST(RunDirectory, IsEmptiedIfImpartMadeAllOfIt) {
  for (const bool marked : {true, false}) {
    const TemporaryFolder folder;
    const std::string path = make_run(folder, marked);
    const RunDirectory run(path, EarlierRun::kDelete);
    EXPECT_EQ(count_inside(path), 1u) << "only run.lock is left";
  }
}

TEST(RunDirectory, IsLeftAloneIfItHoldsForeignFiles) {
  for (const bool marked : {true, false}) {
    const TemporaryFolder folder;
    const std::string path = make_run(folder, marked);
    folder.write("run/src/thesis.tex", "precious");
    folder.write("run/checkpoints/step-0000000040/notes.txt", "precious");
    const std::size_t before = count_inside(path);
    const std::string message =
        message_of<ConfigError>([&] { RunDirectory(path, EarlierRun::kDelete); });
    EXPECT_EQ(message, path +
                           ": --overwrite deletes only runs, and this folder holds what is not of "
                           "a run: checkpoints/step-0000000040/notes.txt, src/thesis.tex; move "
                           "that away, or choose another output");
    EXPECT_EQ(count_inside(path), before);
  }
}

TEST(RunDirectory, IsNoFolderThatOnlyHasFilesOfTheSameNames) {
  const TemporaryFolder folder;
  folder.write("run/config.yaml", "a: 1");
  folder.write("run/env.json", "{\"impart\": 1}");
  const std::string message =
      message_of<ConfigError>([&] { RunDirectory(folder / "run", EarlierRun::kDelete); });
  EXPECT_NE(message.find("config.yaml, env.json"), std::string::npos) << message;
  EXPECT_EQ(count_inside(folder / "run"), 2u);
}

TEST(RunDirectory, OfAFolderThatHeldFilesBeforeIsNotDeleted) {
  const TemporaryFolder folder;
  const std::string precious = folder.write("run/log.txt", "precious");
  { const RunDirectory run(folder / "run", EarlierRun::kRefuse); }
  { const RunDirectory run(folder / "run", EarlierRun::kResume); }
  const std::string message =
      message_of<ConfigError>([&] { RunDirectory(folder / "run", EarlierRun::kDelete); });
  EXPECT_NE(message.find("other files were there before the run"), std::string::npos) << message;
  EXPECT_EQ(testing::read_text(precious), "precious");
  std::filesystem::remove(precious);
  std::filesystem::remove(folder / "run/run.lock");
  EXPECT_NO_THROW(RunDirectory(folder / "run", EarlierRun::kDelete));
}

TEST(RunDirectory, IsNoFile) {
  const TemporaryFolder folder;
  const std::string path = folder.write("file", "precious");
  for (const EarlierRun earlier : {EarlierRun::kRefuse, EarlierRun::kDelete}) {
    EXPECT_THROW(RunDirectory(path, earlier), IoError);
  }
  EXPECT_EQ(testing::read_text(path), "precious");
}

TEST(RunDirectory, HoldsOneRunUnlessTold) {
  const TemporaryFolder folder;
  const std::string path = make_run(folder, true);
  const std::size_t before = count_inside(path);
  EXPECT_THROW(RunDirectory(path, EarlierRun::kRefuse), ConfigError);
  { const RunDirectory resumed(path, EarlierRun::kResume); }
  EXPECT_EQ(count_inside(path), before);
}

TEST(RunDirectory, IsWrittenByOneProcess) {
  const TemporaryFolder folder;
  const std::string path = make_run(folder, true);
  const std::size_t before = count_inside(path);
  const RunDirectory run(path, EarlierRun::kResume);
  const std::string who = std::to_string(::getpid());
  for (const EarlierRun earlier : {EarlierRun::kResume, EarlierRun::kDelete}) {
    EXPECT_EQ(message_of<ConfigError>([&] { RunDirectory(path, earlier); }),
              path + ": process " + who +
                  " trains in this run directory; wait for its end, or let it checkpoint and stop "
                  "with: kill " +
                  who);
    EXPECT_EQ(count_inside(path), before);
  }
}

TEST(RunDirectory, NoticesThatItIsGoneReplacedOrEmptied) {
  const TemporaryFolder folder;
  const RunDirectory run(folder / "run", EarlierRun::kRefuse);
  EXPECT_NO_THROW(run.check_in_place());
  std::filesystem::remove(folder / "run/run.lock");
  EXPECT_THROW(run.check_in_place(), IoError);
  folder.write("run/run.lock", "impart run directory\n");
  EXPECT_THROW(run.check_in_place(), IoError);
  std::filesystem::remove_all(folder / "run");
  EXPECT_THROW(run.check_in_place(), IoError);
}

}  // namespace
}  // namespace impart::run

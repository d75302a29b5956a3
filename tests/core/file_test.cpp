#include "impart/core/file.h"

#include <csignal>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "impart/core/error.h"
#include "tests/support/temporary_folder.h"

namespace impart {
namespace {

using testing::message_of;
using testing::TemporaryFolder;

TEST(OutputFile, AppearsOnlyWhenItIsCommitted) {
  const TemporaryFolder folder;
  {
    OutputFile file(folder / "a");
    file.write("half");
  }
  EXPECT_EQ(folder.count_files(), 0u);
  OutputFile file(folder / "a");
  file.write("whole");
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
  file.commit();
  EXPECT_EQ(testing::read_text(folder / "a"), "whole");
  EXPECT_EQ(folder.count_files(), 1u);
}

TEST(OutputFile, LeavesTheOldFileWhenItFails) {
  const TemporaryFolder folder;
  folder.write("a", "old");
  {
    OutputFile file(folder / "a");
    file.write("new");
  }
  EXPECT_EQ(testing::read_text(folder / "a"), "old");
}

TEST(OutputFile, KeepsBytesInOrderOverManyBuffers) {
  const TemporaryFolder folder;
  std::string content;
  OutputFile file(folder / "a");
  for (int i = 0; i < 300'000; ++i) {
    const std::string line = std::to_string(i) + "\n";
    file.write(line);
    content += line;
  }
  file.commit();
  EXPECT_EQ(testing::read_text(folder / "a"), content);
}

TEST(OutputFile, DoesNotWriteThroughALinkThatWaitsForIt) {
  const TemporaryFolder folder;
  const std::string precious = folder.write("precious", "text");
  const std::string temporary = folder / ("a." + std::to_string(::getpid()) + ".tmp");
  std::filesystem::create_symlink(precious, temporary);
  OutputFile file(folder / "a");
  file.write("new");
  file.commit();
  EXPECT_EQ(testing::read_text(precious), "text");
  EXPECT_EQ(testing::read_text(folder / "a"), "new");
  EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(folder / "a")));
}

TEST(OutputFile, TakesAwayWhatAKilledProcessOfTheSameNumberLeft) {
  const TemporaryFolder folder;
  folder.write("a." + std::to_string(::getpid()) + ".tmp", "a longer text that was cut off");
  OutputFile file(folder / "a");
  file.write("new");
  file.commit();
  EXPECT_EQ(testing::read_text(folder / "a"), "new");
  EXPECT_EQ(folder.count_files(), 1u);
}

TEST(SyncFolder, NamesAFolderThatIsNotThere) {
  const TemporaryFolder folder;
  EXPECT_NO_THROW(sync_folder(folder.path()));
  EXPECT_NO_THROW(sync_folder(""));
  EXPECT_NE(message_of<IoError>([&] { sync_folder(folder / "none"); }).find("none: cannot sync"),
            std::string::npos);
}

TEST(OutputFile, SaysThatTheDiskIsFull) {
  const std::string message = message_of<IoError>([] {
    OutputFile file("/dev/full");
    file.write("x");
    file.commit();
  });
  EXPECT_NE(message.find("/dev/full: cannot write: No space left"), std::string::npos) << message;
}

TEST(OutputFile, SaysWhichFolderIsMissing) {
  const TemporaryFolder folder;
  const std::string message = message_of<IoError>([&] { OutputFile file(folder / "no/a"); });
  EXPECT_NE(message.find("no/a: cannot create: No such file"), std::string::npos) << message;
}

TEST(InputFile, ReadsWhatIsThere) {
  const TemporaryFolder folder;
  EXPECT_EQ(InputFile(folder.write("a", "text")).text(), "text");
  EXPECT_EQ(InputFile(folder.write("empty", "")).text(), "");
}

TEST(InputFile, ReadsPipes) {
  const TemporaryFolder folder;
  const std::string path = folder / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path) << "from a pipe"; });
  EXPECT_EQ(InputFile(path).text(), "from a pipe");
  writer.join();
}

TEST(InputFile, SaysWhatCannotBeRead) {
  const TemporaryFolder folder;
  EXPECT_NE(message_of<DataError>([&] { InputFile(folder / "none"); }).find("none: cannot open"),
            std::string::npos);
  EXPECT_NE(message_of<DataError>([&] { InputFile(folder.path()); }).find("cannot read"),
            std::string::npos);
}

TEST(InputFile, RefusesWhatNeverEnds) {
  EXPECT_EQ(message_of<DataError>([] { InputFile("/dev/zero"); }),
            "/dev/zero: cannot read: is a device, not a file");
  const TemporaryFolder folder;
  const std::string path = folder / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const pid_t writer = ::fork();
  if (writer == 0) {
    ::execlp("cp", "cp", "/dev/zero", path.c_str(), nullptr);
    ::_exit(1);
  }
  EXPECT_EQ(message_of<DataError>([&] { InputFile{path}; }),
            path + ": over 512 MiB came through a pipe: write them to a file first");
  ::kill(writer, SIGTERM);
  ::waitpid(writer, nullptr, 0);
}

}  // namespace
}  // namespace impart

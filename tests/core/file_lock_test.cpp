#include "impart/core/file_lock.h"

#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "impart/core/error.h"
#include "tests/support/temporary_folder.h"

namespace impart {
namespace {

using testing::TemporaryFolder;

TEST(FileLock, IsHeldByOneAndNamesIt) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.lock";
  EXPECT_FALSE(FileLock::is_held(path));
  {
    FileLock first({.path = path, .title = "a title"});
    ASSERT_TRUE(first.try_take());
    EXPECT_EQ(testing::read_text(path), "a title\n" + std::to_string(::getpid()) + "\n");
    FileLock second({.path = path, .title = "a title"});
    EXPECT_FALSE(second.try_take());
    EXPECT_EQ(second.living_holder(), ::getpid());
    EXPECT_TRUE(FileLock::is_held(path));
  }
  EXPECT_FALSE(FileLock::is_held(path));
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(FileLock, IsFreedByDeathAndForgetsTheDead) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.lock";
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    FileLock lock({.path = path});
    const char taken = lock.try_take() ? 'y' : 'n';
    [[maybe_unused]] const auto written = ::write(told[1], &taken, 1);
    ::pause();
    ::_exit(0);
  }
  char taken = 0;
  ASSERT_EQ(::read(told[0], &taken, 1), 1);
  EXPECT_EQ(taken, 'y');
  FileLock lock({.path = path});
  EXPECT_FALSE(lock.try_take());
  EXPECT_EQ(lock.living_holder(), child);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(lock.living_holder(), 0);
  EXPECT_TRUE(lock.try_take());
  ::close(told[0]);
  ::close(told[1]);
}

TEST(FileLock, KnowsWhetherItsFileIsStillThere) {
  const TemporaryFolder folder;
  const std::string inside = folder.write("a/a.lock", "");
  FileLock lock({.path = inside});
  EXPECT_TRUE(lock.is_in_place());
  std::filesystem::rename(folder / "a", folder / "b");
  EXPECT_FALSE(lock.is_in_place());
  folder.write("a/a.lock", "");
  EXPECT_FALSE(lock.is_in_place());
  std::filesystem::remove_all(folder / "a");
  std::filesystem::rename(folder / "b", folder / "a");
  EXPECT_TRUE(lock.is_in_place());
}

TEST(FileLock, DoesNotFollowALink) {
  const TemporaryFolder folder;
  const std::string precious = folder.write("precious", "text");
  std::filesystem::create_symlink(precious, folder / "a.lock");
  EXPECT_THROW(FileLock({.path = folder / "a.lock"}), IoError);
  EXPECT_EQ(testing::read_text(precious), "text");
}

TEST(FileLock, IsSharedByManyOrHeldByOne) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.lock";
  FileLock first({.path = path, .shared = true}), second({.path = path, .shared = true});
  FileLock alone({.path = path});
  EXPECT_TRUE(first.try_take());
  EXPECT_TRUE(second.try_take());
  EXPECT_FALSE(alone.try_take());
  EXPECT_FALSE(FileLock::is_held(path));
}

}  // namespace
}  // namespace impart

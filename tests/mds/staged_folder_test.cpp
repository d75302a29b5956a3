#include "impart/data/staged_folder.h"

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "tests/support/temporary_folder.h"

namespace impart {
namespace {

using testing::read_text;
using testing::TemporaryFolder;

void fill(const StagedFolder& staged, const std::string& content) {
  std::filesystem::create_directory(staged.path() + "/inner");
  std::ofstream(staged.path() + "/inner/file") << content;
}

TEST(StagedFolder, AppearsWithCommit) {
  const TemporaryFolder folder;
  StagedFolder staged(folder / "deep/new/", false);
  fill(staged, "content");
  EXPECT_FALSE(std::filesystem::exists(folder / "deep/new"));
  staged.commit();
  EXPECT_EQ(read_text(folder / "deep/new/inner/file"), "content");
}

TEST(StagedFolder, LeavesNothingWithoutCommit) {
  const TemporaryFolder folder;
  { fill(StagedFolder(folder / "new", false), "content"); }
  EXPECT_EQ(folder.count_files(), 0u);
}

TEST(StagedFolder, ReplacesAnOldFolderOnlyWithCommit) {
  const TemporaryFolder folder;
  folder.write("place/inner/file", "old");
  folder.write("place/only in the old one", "");
  EXPECT_THROW(StagedFolder(folder / "place", false), ConfigError);
  { fill(StagedFolder(folder / "place", true), "new"); }
  EXPECT_EQ(read_text(folder / "place/inner/file"), "old");
  {
    StagedFolder staged(folder / "place", true);
    fill(staged, "new");
    staged.commit();
  }
  EXPECT_EQ(read_text(folder / "place/inner/file"), "new");
  EXPECT_FALSE(std::filesystem::exists(folder / "place/only in the old one"));
  EXPECT_EQ(folder.count_files(), 1u);
}

TEST(StagedFolder, ReplacesNothing) {
  const TemporaryFolder folder;
  StagedFolder staged(folder / "place", true);
  fill(staged, "new");
  staged.commit();
  EXPECT_EQ(read_text(folder / "place/inner/file"), "new");
}

TEST(StagedFolder, SaysWhereItCannotBe) {
  const TemporaryFolder folder;
  folder.write("file", "");
  EXPECT_THROW(StagedFolder(folder / "file/new", false), IoError);
}

}  // namespace
}  // namespace impart

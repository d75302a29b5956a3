#include "impart/data/payloads/staged_folder.h"

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "tests/support/temporary_folder.h"

namespace impart::data {
namespace {

using testing::read_text;
using testing::TemporaryFolder;

void fill(const StagedFolder& staged, const std::string& content) {
  std::filesystem::create_directory(staged.path() + "/inner");
  std::ofstream(staged.path() + "/inner/file") << content;
}

TEST(StagedFolder, AppearsWithCommit) {
  const TemporaryFolder folder;
  StagedFolder staged({.destination = folder / "deep/new/"});
  fill(staged, "content");
  EXPECT_FALSE(std::filesystem::exists(folder / "deep/new"));
  staged.commit();
  EXPECT_EQ(read_text(folder / "deep/new/inner/file"), "content");
}

TEST(StagedFolder, LeavesNothingWithoutCommit) {
  const TemporaryFolder folder;
  { fill(StagedFolder({.destination = folder / "new"}), "content"); }
  EXPECT_EQ(folder.count_files(), 0u);
}

TEST(StagedFolder, ReplacesAnOldFolderOnlyWithCommit) {
  for (const bool at_once : {true, false}) {
    const TemporaryFolder folder;
    const StagedFolderSpec spec{
        .destination = folder / "place", .replace = true, .at_once = at_once};
    folder.write("place/inner/file", "old");
    folder.write("place/only in the old one", "");
    { fill(StagedFolder(spec), "new"); }
    EXPECT_EQ(read_text(folder / "place/inner/file"), "old");
    {
      StagedFolder staged(spec);
      fill(staged, "new");
      staged.commit();
    }
    EXPECT_EQ(read_text(folder / "place/inner/file"), "new");
    EXPECT_FALSE(std::filesystem::exists(folder / "place/only in the old one"));
    EXPECT_EQ(folder.count_files(), 1u);
  }
}

TEST(StagedFolder, ReplacesNothing) {
  const TemporaryFolder folder;
  StagedFolder staged({.destination = folder / "place", .replace = true});
  fill(staged, "new");
  staged.commit();
  EXPECT_EQ(read_text(folder / "place/inner/file"), "new");
}

TEST(StagedFolder, SaysWhereItCannotBe) {
  const TemporaryFolder folder;
  folder.write("file", "");
  EXPECT_THROW(StagedFolder({.destination = folder / "file/new"}), IoError);
  EXPECT_THROW(StagedFolder({.destination = folder / "file"}), ConfigError);
}

TEST(StagedFolder, DoesNotReplaceWhatAppearedMeanwhile) {
  const TemporaryFolder folder;
  StagedFolder staged({.destination = folder / "place"});
  fill(staged, "new");
  folder.write("place/file", "of another");
  EXPECT_THROW(staged.commit(), IoError);
  EXPECT_EQ(read_text(folder / "place/file"), "of another");
}

}  // namespace
}  // namespace impart::data

#include "impart/data/fetch/stamp.h"

#include <gtest/gtest.h>

#include "impart/data/fetch/sums.h"
#include "tests/support/temporary_folder.h"

namespace impart::data {
namespace {

using testing::TemporaryFolder;

FetchStamp stamp_of(const TemporaryFolder& folder, const std::string& name) {
  const std::string sum = sha256_of_file(folder / name);
  return {.sources = {{"a.tar.gz", "sum"}}, .files = {{name, 5, sum}}};
}

TEST(Stamp, ReadsAsItWasWritten) {
  const TemporaryFolder folder;
  folder.write("file", "bytes");
  const FetchStamp stamp = stamp_of(folder, "file");
  write_stamp(folder / "stamp", stamp);
  const auto read = read_stamp(folder / "stamp");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->sources, stamp.sources);
  EXPECT_EQ(read->files, stamp.files);
  EXPECT_TRUE(read->lists("file"));
  EXPECT_FALSE(read->lists("other"));
}

TEST(Stamp, ThatCannotBeUnderstoodIsNone) {
  const TemporaryFolder folder;
  EXPECT_FALSE(read_stamp(folder / "none"));
  for (const char* text :
       {"", "{", "[]", "{\"sources\": {}}", "{\"sources\": {}, \"files\": [{\"name\": 3}]}"}) {
    EXPECT_FALSE(read_stamp(folder.write("stamp", text))) << text;
  }
}

TEST(Stamp, NoticesMissingShortAndChangedFiles) {
  const TemporaryFolder folder;
  folder.write("file", "bytes");
  const FetchStamp stamp = stamp_of(folder, "file");
  EXPECT_TRUE(files_are_intact(stamp, folder.path()));
  folder.write("file", "bites");
  EXPECT_FALSE(files_are_intact(stamp, folder.path()));
  folder.write("file", "byte");
  EXPECT_FALSE(files_are_intact(stamp, folder.path()));
  std::filesystem::remove(folder / "file");
  EXPECT_FALSE(files_are_intact(stamp, folder.path()));
}

}  // namespace
}  // namespace impart::data

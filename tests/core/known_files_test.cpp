#include "impart/core/known_files.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace impart {
namespace {

using testing::TemporaryFolder;
using Names = std::vector<std::string>;

constexpr const char* kPatterns[] = {"a.txt", "parts/epoch-[0-9]*.csv", "deep/*/x.json"};

TEST(KnownFiles, AreThoseOfThePatternsAndTheFoldersOnTheWayToThem) {
  const TemporaryFolder folder;
  for (const char* name : {"a.txt", "parts/epoch-1.csv", "deep/one/x.json", "a.txt.123.tmp"}) {
    folder.write(name, "");
  }
  const KnownFiles files = sort_files(folder.path(), kPatterns);
  EXPECT_EQ(files.known, (Names{"a.txt", "a.txt.123.tmp", "deep/one/x.json", "deep/one", "deep",
                                "parts/epoch-1.csv", "parts"}));
  EXPECT_EQ(files.foreign, Names{});
}

TEST(KnownFiles, LeaveWhatIsForeignByName) {
  const TemporaryFolder folder;
  for (const char* name : {"a.txt", "thesis/one/two.tex", "parts/notes", "deep/one/more/x.json",
                           "parts/epoch-x.csv", "a.txt.mine.tmp"}) {
    folder.write(name, "");
  }
  std::filesystem::create_directory(folder / "nothing");
  std::filesystem::create_symlink(folder / "a.txt", folder / "deep/link");
  const KnownFiles files = sort_files(folder.path(), kPatterns);
  EXPECT_EQ(files.foreign, (Names{"a.txt.mine.tmp", "deep/link", "deep/one/more/x.json", "nothing",
                                  "parts/epoch-x.csv", "parts/notes", "thesis/one/two.tex"}));
}

TEST(KnownFiles, AreNotFollowedThroughLinks) {
  const TemporaryFolder folder, other;
  other.write("epoch-1.csv", "precious");
  std::filesystem::create_directory_symlink(other.path(), folder / "parts");
  EXPECT_EQ(sort_files(folder.path(), kPatterns).foreign, Names{"parts"});
}

TEST(KnownFiles, AloneAreRemoved) {
  const TemporaryFolder folder;
  folder.write("a.txt", "");
  folder.write("parts/epoch-1.csv", "");
  const KnownFiles files = sort_files(folder.path(), kPatterns);
  remove_known(folder.path(), files);
  EXPECT_EQ(folder.count_files(), 0u);
}

TEST(KnownFiles, AreListedUpToSome) {
  EXPECT_EQ(list_some(Names{"a", "b"}), "a, b");
  EXPECT_EQ(list_some(Names{"a", "b", "c", "d", "e", "f", "g"}), "a, b, c, d, e and 2 more");
}

}  // namespace
}  // namespace impart

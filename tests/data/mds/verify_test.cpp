#include "impart/data/mds/verify.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "impart/core/column_file.h"
#include "tests/data/mds/shards.h"

namespace impart::data {
namespace {

using testing::contains;
using testing::TemporaryFolder;
using testing::write_shards;

std::vector<std::string> problems_of(const MdsVerifySpec& spec) {
  std::vector<std::string> problems;
  verify_mds(spec, [&](const std::string& what) { problems.push_back(what); });
  return problems;
}

const std::vector<std::string> kAllHashes = {"xxh64", "xxh3_64", "sha256", "sha1", "md5"};

TEST(MdsVerify, FindsNothingWrongWithWhatIsSound) {
  for (const char* compression : {"", "zstd"}) {
    const TemporaryFolder folder;
    write_shards(folder.path(), {.compression = compression, .hashes = kAllHashes});
    EXPECT_EQ(problems_of({.folder = folder.path()}), std::vector<std::string>{});
  }
}

TEST(MdsVerify, FindsOneWrongByteByEveryHash) {
  const TemporaryFolder folder;
  write_shards(folder.path(), {.hashes = kAllHashes});
  const std::string path = folder / "shard.00001.mds";
  const std::string sound = testing::read_text(path);
  testing::patch(path, sound.size() - 30, "#");
  const std::vector<std::string> problems = problems_of({.folder = folder.path()});
  ASSERT_EQ(problems.size(), kAllHashes.size());
  for (const std::string& problem : problems) {
    EXPECT_TRUE(problem.starts_with(path + ": its ")) << problem;
    EXPECT_TRUE(contains(problem, ", but index.json says ")) << problem;
  }
}

TEST(MdsVerify, GoesOnAfterEachProblem) {
  const TemporaryFolder folder;
  write_shards(folder.path(), {.samples = 100, .hashes = {}});
  std::filesystem::remove(folder / "shard.00000.mds");
  std::filesystem::resize_file(folder / "shard.00002.mds", 500);
  testing::patch(folder / "shard.00003.mds", 12, testing::bytes_of(7u));
  // The label of the last sample of a shard: its last 8 bytes.
  const std::string path = folder / "shard.00004.mds";
  testing::patch(path, testing::read_text(path).size() - 1, "\x80");
  const std::vector<std::string> problems = problems_of({.folder = folder.path()});
  ASSERT_EQ(problems.size(), 4u) << fmt::format("{}", fmt::join(problems, "\n"));
  EXPECT_TRUE(contains(problems[0], "shard.00000.mds: cannot open"));
  EXPECT_TRUE(contains(problems[1], "shard.00002.mds: has 500 bytes"));
  EXPECT_TRUE(contains(problems[2], "shard.00003.mds: byte 12: sample 1 goes from byte"));
  EXPECT_TRUE(contains(problems[3], "its label is negative"));
}

TEST(MdsVerify, ComparesLabelsWithTheSidecar) {
  const TemporaryFolder folder;
  write_shards(folder.path(), {.samples = 3});
  write_integers(folder / "labels.npy", "label", std::vector<std::uint32_t>{0, 5, 2});
  const std::vector<std::string> problems = problems_of({.folder = folder.path()});
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_TRUE(contains(problems[0], "sample 1 (byte "));
  EXPECT_TRUE(contains(problems[0], "its label is 1, but labels.npy says 5"));
}

TEST(MdsVerify, DecodesWhenAsked) {
  const TemporaryFolder folder;
  write_shards(folder.path(), {.samples = 3});  // images of letters
  EXPECT_TRUE(problems_of({.folder = folder.path()}).empty());
  const std::vector<std::string> problems = problems_of({.folder = folder.path(), .decode = true});
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_TRUE(contains(problems[2], "shard.00000.mds, sample 2 (byte ")) << problems[2];
}

TEST(MdsVerify, SaysSoIfThereIsNoIndex) {
  const TemporaryFolder folder;
  ASSERT_EQ(problems_of({.folder = folder.path()}).size(), 1u);
  folder.write("index.json", "{}");
  ASSERT_EQ(problems_of({.folder = folder.path()}).size(), 1u);
}

TEST(MdsVerify, FindsDamagedCompression) {
  const TemporaryFolder folder;
  write_shards(folder.path(), {.compression = "zstd"});
  testing::patch(folder / "shard.00001.mds.zstd", 40, "########");
  const std::vector<std::string> problems = problems_of({.folder = folder.path()});
  ASSERT_GE(problems.size(), 2u);
  EXPECT_TRUE(contains(problems[0], "shard.00001.mds.zstd: its xxh64 is "));
  EXPECT_TRUE(contains(problems[1], "shard.00001.mds"));
}

}  // namespace
}  // namespace impart::data

#include "impart/data/mds/writer.h"

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "tests/data/mds/shards.h"

namespace impart::data {
namespace {

using testing::as_span;
using testing::message_of;
using testing::TemporaryFolder;

MdsConfig one_column(std::uint64_t shard_bytes = 1000) {
  return {.columns = {make_mds_column("a", "str")}, .shard_bytes = shard_bytes};
}

void add(MdsWriter& writer, std::string_view value) {
  writer.add(std::vector{as_span(value)});
}

TEST(MdsWriter, WritesTheDocumentedBytes) {
  const TemporaryFolder folder;
  MdsWriter writer(folder.path(), one_column());
  add(writer, "hello");
  add(writer, "");
  writer.finish();
  using testing::bytes_of;
  const std::string config = mds_shard_text(one_column());
  const auto start = static_cast<std::uint32_t>(16 + config.size());
  EXPECT_EQ(testing::read_text(folder / "shard.00000.mds"),
            bytes_of(2u) + bytes_of(start) + bytes_of(start + 9) + bytes_of(start + 13) + config +
                bytes_of(5u) + "hello" + bytes_of(0u));
}

TEST(MdsWriter, StartsANewShardWhereTheLimitIs) {
  const std::uint64_t head = mds_head_bytes(2) + mds_shard_text(one_column(500)).size();
  const std::string value((500 - head) / 2 - 4, 'x');  // two fill a shard exactly
  const TemporaryFolder folder;
  MdsWriter writer(folder.path(), one_column(500));
  for (int i = 0; i < 5; ++i) add(writer, value);
  add(writer, std::string(5000, 'y'));
  writer.finish();
  const MdsIndex index = read_mds_index(folder.path());
  std::vector<std::uint64_t> samples;
  for (const MdsShard& shard : index.shards) samples.push_back(shard.samples);
  EXPECT_EQ(samples, (std::vector<std::uint64_t>{2, 2, 1, 1}));
  EXPECT_LE(index.shards[0].raw.bytes, 500u);
  EXPECT_GE(index.shards[0].raw.bytes, 499u);
}

TEST(MdsWriter, WritesTheIndexLast) {
  const TemporaryFolder folder;
  {
    MdsWriter writer(folder.path(), one_column(200));
    for (int i = 0; i < 20; ++i) add(writer, "twenty letters or so");
    EXPECT_GT(folder.count_files(), 3u);
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "index.json"));
}

TEST(MdsWriter, RefusesWhatCannotBe) {
  const TemporaryFolder folder;
  const auto complain = [&](MdsConfig config) {
    return message_of<ConfigError>([&] { MdsWriter(folder.path(), config); });
  };
  EXPECT_EQ(complain({.hashes = {"xxh46"}}), "unknown hash 'xxh46', did you mean 'xxh64'?");
  for (const char* compression : {"gz", "zstd:", "zstd:0", "zstd:23", "zstd:x", "zstd:3x"}) {
    EXPECT_EQ(complain({.compression = compression}),
              fmt::format("unknown compression '{}': zstd, or zstd:LEVEL with a level 1..22",
                          compression));
  }
  EXPECT_NE(complain({.shard_bytes = 0}), "");
  EXPECT_NE(complain({.shard_bytes = std::uint64_t{1} << 32}), "");
  EXPECT_THROW(
      {
        MdsWriter writer(folder / "none", one_column());
        add(writer, "x");
        writer.finish();
      },
      IoError);
}

}  // namespace
}  // namespace impart::data

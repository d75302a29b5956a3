#include "impart/data/mds/source.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/data/mds/cache.h"
#include "tests/data/mds/shards.h"

namespace impart::data {
namespace {

using testing::bytes_of;
using testing::contains;
using testing::expected_sample;
using testing::message_of;
using testing::read_sample;
using testing::ShardsSpec;
using testing::TemporaryFolder;
using testing::write_shards;

std::string source_complaint(const std::string& folder) {
  return message_of<DataError>([&] { MdsSource({.folder = folder}); });
}

TEST(MdsSource, GivesEverySampleAsItIsStored) {
  for (const char* compression : {"", "zstd", "zstd:19"}) {
    const TemporaryFolder folder;
    write_shards(folder.path(), {.compression = compression});
    const MdsSource source({.folder = folder.path()});
    EXPECT_EQ(source.examples(), 50u);
    for (std::uint64_t i = 50; i-- > 0;) EXPECT_EQ(read_sample(source, i), expected_sample(i));
    EXPECT_EQ(source.describe(ExampleId{0}), folder / "shard.00000.mds, sample 0");
    EXPECT_THROW(source.payload_bytes(ExampleId{50}), Error);
  }
}

TEST(MdsSource, ReadsInOrderWhatItReadsAtRandom) {
  for (const char* compression : {"", "zstd"}) {
    const TemporaryFolder folder;
    write_shards(folder.path(), {.compression = compression});
    const MdsSource source({.folder = folder.path()});
    std::uint64_t next = 0;
    source.read_in_order([&](ExampleId id, std::span<const std::byte> sample) {
      EXPECT_EQ(index(id), next);
      EXPECT_EQ(testing::as_string(sample), expected_sample(next++));
    });
    EXPECT_EQ(next, 50u);
  }
}

/// Samples from none to several blocks long, over shards of several blocks.
TEST(MdsSource, ReadsInOrderAcrossBlocks) {
  const TemporaryFolder folder;
  RandomStream random({.seed = 3, .purpose = Purpose("test")});
  std::vector<std::string> samples;
  {
    MdsWriter writer(folder.path(),
                     {.columns = {make_mds_column("a", "bytes")}, .shard_bytes = 12u << 20});
    for (int i = 0; i < 60; ++i) {
      const std::uint64_t size =
          i % 9 == 8 ? 3'500'000 + random.below(4096) : random.below(700'000);
      samples.emplace_back(size, static_cast<char>(i));
      writer.add(std::vector{testing::as_span(samples.back())});
    }
    writer.finish();
  }
  const MdsSource source({.folder = folder.path()});
  std::size_t next = 0;
  const std::uint64_t from_disk =
      source.read_in_order([&](ExampleId, std::span<const std::byte> sample) {
        ASSERT_EQ(sample.size(), samples[next].size() + 4);
        ASSERT_TRUE(testing::as_string(sample.subspan(4)) == samples[next]) << next;
        ++next;
      });
  EXPECT_EQ(next, samples.size());
  std::uint64_t bytes = 0;
  for (const MdsShard& shard : source.index().shards) bytes += shard.raw.bytes;
  EXPECT_EQ(from_disk, bytes);
}

TEST(MdsSource, TakesOnlyTheFirstSamplesUnderALimit) {
  const TemporaryFolder folder;
  write_shards(folder.path());
  for (const std::uint64_t limit : {1, 7, 20, 49, 50, 99}) {
    const MdsSource source({.folder = folder.path(), .limit = limit});
    const std::uint64_t expected = std::min<std::uint64_t>(limit, 50);
    ASSERT_EQ(source.examples(), expected);
    EXPECT_EQ(read_sample(source, expected - 1), expected_sample(expected - 1));
    std::uint64_t visited = 0;
    source.read_in_order([&](ExampleId, auto) { ++visited; });
    EXPECT_EQ(visited, expected);
  }
}

TEST(MdsSource, CountsWhatCameFromDisk) {
  const TemporaryFolder folder;
  write_shards(folder / "raw");
  write_shards(folder / "zip", {.compression = "zstd"});
  std::vector<std::byte> payload(expected_sample(3).size());
  const MdsSource raw({.folder = folder / "raw"});
  EXPECT_EQ(raw.read(ExampleId{3}, payload), payload.size());
  EXPECT_EQ(raw.read(ExampleId{3}, payload), payload.size());
  const MdsSource zip({.folder = folder / "zip"});
  EXPECT_EQ(zip.read(ExampleId{3}, payload), zip.index().shards[0].zip->bytes);
  EXPECT_EQ(zip.read(ExampleId{3}, payload), 0u);
}

TEST(MdsSource, KeepsNoMoreShardsThanTheCacheHolds) {
  const TemporaryFolder folder;
  write_shards(folder.path(), {.samples = 200, .compression = "zstd"});
  const MdsIndex index = read_mds_index(folder.path());
  ASSERT_GT(index.shards.size(), 10u);
  MdsShardCache cache(3000);
  std::uint64_t from_disk = 0;
  for (std::size_t shard = 0; shard < index.shards.size(); ++shard) {
    cache.get(index, shard, from_disk);
    EXPECT_LE(cache.bytes(), 3000u);
  }
  const std::uint64_t before = from_disk;
  cache.get(index, index.shards.size() - 1, from_disk);
  EXPECT_EQ(from_disk, before) << "the last one was kept";
  cache.get(index, 0, from_disk);
  EXPECT_GT(from_disk, before) << "the first one was not";
  MdsShardCache tiny(1);
  tiny.get(index, 4, from_disk);
  EXPECT_EQ(tiny.bytes(), index.shards[4].raw.bytes) << "one is always kept";
}

TEST(MdsSource, ServesManyThreads) {
  for (const char* compression : {"", "zstd"}) {
    const TemporaryFolder folder;
    write_shards(folder.path(), {.samples = 100, .compression = compression});
    const MdsSource source({.folder = folder.path(), .cache_bytes = 3000, .open_files = 2});
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        RandomStream random({.seed = t, .purpose = Purpose("test")});
        for (int i = 0; i < 500; ++i) {
          const std::uint64_t id = random.below(100);
          if (read_sample(source, id) != expected_sample(id)) ++wrong;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
  }
}

TEST(MdsSource, PrefersARawFileToACompressedOne) {
  const TemporaryFolder folder;
  write_shards(folder / "raw");
  write_shards(folder / "zip", {.compression = "zstd"});
  // Shards hold their configuration, so a raw shard of the other folder has another size.
  std::uint64_t ignored = 0;
  const MdsIndex index = read_mds_index(folder / "zip");
  const auto bytes = load_mds_shard(folder / "zip", index.shards[0], ignored);
  folder.write("zip/shard.00000.mds", testing::as_string(bytes));
  std::filesystem::remove(folder / "zip/shard.00000.mds.zstd");
  EXPECT_EQ(read_sample(MdsSource({.folder = folder / "zip"}), 0), expected_sample(0));
}

TEST(MdsSource, NamesMissingAndTruncatedShards) {
  for (const char* compression : {"", "zstd"}) {
    const TemporaryFolder folder;
    write_shards(folder.path(), {.compression = compression});
    const std::string path =
        folder / (*compression == '\0' ? "shard.00002.mds" : "shard.00002.mds.zstd");
    const std::string content = testing::read_text(path);
    std::ofstream(path, std::ios::binary) << content.substr(0, content.size() - 1);
    EXPECT_EQ(source_complaint(folder.path()),
              fmt::format("{}: has {} bytes, but index.json says {}: truncated", path,
                          content.size() - 1, content.size()));
    std::filesystem::remove(path);
    EXPECT_TRUE(source_complaint(folder.path()).starts_with(path + ": cannot open: No such file"));
  }
}

TEST(MdsSource, RefusesOffsetsThatCannotBe) {
  const TemporaryFolder folder;
  write_shards(folder.path());
  const std::string path = folder / "shard.00001.mds";
  const std::string sound = testing::read_text(path);
  const auto complain = [&](std::size_t at, std::uint32_t number) {
    std::ofstream(path, std::ios::binary) << sound;
    testing::patch(path, at, bytes_of(number));
    const std::string message = source_complaint(folder.path());
    EXPECT_TRUE(message.starts_with(path + ": byte ")) << message;
    return message;
  };
  std::uint32_t samples = 0, third = 0;
  std::memcpy(&samples, sound.data(), 4);
  std::memcpy(&third, sound.data() + 12, 4);
  EXPECT_TRUE(contains(complain(0, samples + 1), "byte 0: says it has"));
  EXPECT_TRUE(contains(complain(4, 5), "byte 4: its first sample starts at byte 5, within"));
  EXPECT_TRUE(contains(complain(12, 0xFFFFFFFF), "sample 2 goes from byte 4294967295 to"));
  EXPECT_TRUE(contains(complain(8, third - 3), "sample 1 goes from byte"));
  EXPECT_TRUE(contains(complain(4 + 4 * samples, 0xFFFFFF), "its last sample ends at byte"));
}

TEST(MdsSource, FindsDamageInCompressedShards) {
  const TemporaryFolder folder;
  write_shards(folder.path(), {.compression = "zstd"});
  const std::string path = folder / "shard.00001.mds.zstd";
  const std::string sound = testing::read_text(path);
  int silent = 0;
  for (std::size_t at = 0; at < sound.size(); at += 3) {
    std::ofstream(path, std::ios::binary) << sound;
    testing::patch(path, at, std::string(1, static_cast<char>(sound[at] ^ 0x41)));
    const std::string message = message_of<DataError>([&] {
      const MdsSource source({.folder = folder.path()});
      for (std::uint64_t i = 0; i < 50; ++i) {
        if (read_sample(source, i) != expected_sample(i)) ++silent;
      }
    });
    EXPECT_TRUE(message.empty() || contains(message, "shard.00001.mds")) << message;
  }
  EXPECT_EQ(silent, 0) << "damage that nobody noticed";
}

TEST(MdsSource, MakesNoRoomForWhatAFileCannotHold) {
  const TemporaryFolder folder;
  write_shards(folder.path(), {.samples = 2, .compression = "zstd"});
  std::string index = testing::read_text(folder / "index.json");
  const std::size_t raw = index.find("\"raw_data\": {\"basename\"");
  const std::size_t number = index.find("\"bytes\": ", raw) + 9;
  index.replace(number, index.find(',', number) - number, "4000000000");
  folder.write("index.json", index);
  EXPECT_TRUE(contains(source_complaint(folder.path()),
                       "bytes cannot hold the 4000000000 bytes that index.json tells of"))
      << source_complaint(folder.path());
}

TEST(MdsSource, RefusesCompressionItDoesNotKnow) {
  const TemporaryFolder folder;
  write_shards(folder.path(), {.samples = 2, .compression = "zstd"});
  testing::replace_in(folder / "index.json", "\"zstd\"", "\"br:11\"");
  EXPECT_EQ(source_complaint(folder.path()),
            folder / "shard.00000.mds.zstd: compressed by 'br:11'; only zstd can be read here");
}

TEST(MdsSource, NoticesAShardThatShrinksWhileItIsUsed) {
  const TemporaryFolder folder;
  write_shards(folder.path());
  const MdsSource source({.folder = folder.path()});
  std::filesystem::resize_file(folder / "shard.00000.mds", 300);
  EXPECT_TRUE(
      contains(message_of<DataError>([&] { read_sample(source, 5); }), "the file was truncated"));
}

}  // namespace
}  // namespace impart::data

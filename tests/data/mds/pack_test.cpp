#include "impart/data/mds/pack.h"

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/data/mds/dataset.h"
#include "tests/data/mds/example_sets.h"
#include "tests/data/mds/shards.h"

namespace impart::data {
namespace {

using testing::contains;
using testing::kJpegFront;
using testing::kPngFront;
using testing::message_of;
using testing::photo_set;
using testing::raw_set;
using testing::read_sample;
using testing::TemporaryFolder;

ExampleData raw_data() {
  return {.train = raw_set(40), .test = raw_set(9)};
}

std::string encoding_of(const std::string& folder) {
  return read_mds_index(folder).columns[0].encoding;
}

TEST(MdsPack, KeepsEverythingOfADataSet) {
  for (const char* compression : {"", "zstd:2"}) {
    const TemporaryFolder folder;
    const ExampleData before = raw_data();
    const MdsPackSummary summary = pack_mds(
        before, {.destination = folder / "packed", .shard_bytes = 900, .compression = compression});
    EXPECT_EQ(summary.examples, 49u);
    EXPECT_EQ(summary.payload_bytes, 49u * 60);
    EXPECT_EQ(summary.encoding, "ndarray:uint8:3,4,5");
    const ExampleData after = open_mds({.root = folder / "packed"});
    EXPECT_GT(read_mds_index(folder / "packed/train").shards.size(), 2u);
    EXPECT_EQ(after.train.labels, before.train.labels);
    EXPECT_EQ(after.test.labels, before.test.labels);
    EXPECT_EQ(after.train.truth, before.train.truth);
    EXPECT_EQ(after.test.class_names, before.test.class_names);
    EXPECT_EQ(after.test.mean, before.test.mean);
    EXPECT_EQ(after.train.std, before.train.std);
    EXPECT_EQ(after.train.classes, 4u);
    std::vector<std::uint8_t> pixels(60);
    for (std::uint64_t i = 0; i < 40; ++i) {
      const std::string sample = read_sample(*after.train.payloads, i);
      after.train.decoder->decode(testing::as_span(sample), {}, pixels);
      EXPECT_EQ(std::string(pixels.begin(), pixels.end()), read_sample(*before.train.payloads, i));
    }
  }
}

TEST(MdsPack, NamesTheEncodingByTheFiles) {
  const TemporaryFolder folder;
  const std::vector<std::string> jpegs = {kJpegFront + "1", kJpegFront + "22"};
  const std::vector<std::string> pngs = {kPngFront + "1", kPngFront + "22"};
  const std::vector<std::string> both = {kJpegFront + "1", kJpegFront + "22", kPngFront + "3",
                                         kJpegFront + "4"};
  const auto pack = [&](const char* name, const std::vector<std::string>& files) {
    pack_mds({.train = photo_set(files), .test = photo_set(jpegs)},
             {.destination = folder / name, .shard_bytes = 300});
    const MdsSource source({.folder = folder / name + "/train"});
    ASSERT_EQ(source.examples(), files.size());
    for (std::uint64_t i = 0; i < files.size(); ++i) {
      EXPECT_EQ(read_sample(source, i).substr(4, files[i].size()), files[i]);
    }
  };
  pack("jpegs", jpegs);
  EXPECT_EQ(encoding_of(folder / "jpegs/train"), "jpeg");
  pack("pngs", pngs);
  EXPECT_EQ(encoding_of(folder / "pngs/train"), "png");
  EXPECT_EQ(encoding_of(folder / "pngs/test"), "jpeg");
  pack("both", both);
  EXPECT_EQ(encoding_of(folder / "both/train"), "bytes");
}

TEST(MdsPack, TakesPixelsThatLookLikeAFileForPixels) {
  const TemporaryFolder folder;
  ExampleSet set = raw_set(2);
  set.payloads = std::make_shared<testing::ListedPayloads>(
      std::vector{kJpegFront + std::string(57, 'x'), std::string(60, 'y')});
  pack_mds({.train = set, .test = raw_set(1)}, {.destination = folder / "packed"});
  EXPECT_EQ(encoding_of(folder / "packed/train"), "ndarray:uint8:3,4,5");
}

TEST(MdsPack, PacksShardsAnewWithAllTheirColumns) {
  const TemporaryFolder folder;
  pack_mds(raw_data(), {.destination = folder / "first", .shard_bytes = 900});
  const ExampleData first = open_mds({.root = folder / "first"});
  pack_mds(first, {.destination = folder / "second", .compression = "zstd", .hashes = {"md5"}});
  const ExampleData second = open_mds({.root = folder / "second"});
  EXPECT_EQ(read_mds_index(folder / "second/train").columns,
            read_mds_index(folder / "first/train").columns);
  for (std::uint64_t i = 0; i < 40; ++i) {
    EXPECT_EQ(read_sample(*second.train.payloads, i), read_sample(*first.train.payloads, i));
  }
  EXPECT_EQ(second.test.labels, first.test.labels);
}

TEST(MdsPack, LeavesNothingBehindWhenItFails) {
  const TemporaryFolder folder;
  const MdsPackSpec spec{.destination = folder / "packed", .shard_bytes = 300};
  const std::vector<std::string> bad = {kJpegFront + "1", "GIF89a"};
  EXPECT_EQ(message_of<DataError>([&] {
              pack_mds({.train = photo_set({kJpegFront}), .test = photo_set(bad)}, spec);
            }),
            "payload 1: its 6 bytes are neither a JPEG nor a PNG file");
  EXPECT_THROW(pack_mds({.train = raw_set(3), .test = raw_set(0)}, spec), ConfigError);
  int calls = 0;
  MdsPackSpec stopped = spec;
  stopped.stop_requested = [&] { return ++calls > 45; };
  EXPECT_THROW(pack_mds(raw_data(), stopped), MdsPackInterrupted);
  EXPECT_EQ(folder.count_files(), 0u);
}

TEST(MdsPack, ReplacesOnlyShardsAndOnlyWhenAsked) {
  const TemporaryFolder folder;
  MdsPackSpec spec{.destination = folder / "packed"};
  pack_mds(raw_data(), spec);
  EXPECT_EQ(message_of<ConfigError>([&] { pack_mds(raw_data(), spec); }),
            folder / "packed: exists already");
  spec.overwrite = true;
  pack_mds({.train = raw_set(3), .test = raw_set(2)}, spec);
  EXPECT_EQ(open_mds({.root = folder / "packed"}).train.count(), 3u);
  EXPECT_EQ(folder.count_files(), 1u);
  folder.write("precious/thesis.tex", "x");
  spec.destination = folder / "precious";
  EXPECT_EQ(message_of<ConfigError>([&] { pack_mds(raw_data(), spec); }),
            folder / "precious: is no data set of shards, so it is not overwritten");
  EXPECT_TRUE(std::filesystem::exists(folder / "precious/thesis.tex"));
}

TEST(MdsPack, TellsHowFarItIs) {
  const TemporaryFolder folder;
  std::uint64_t last = 0, all = 0;
  pack_mds(raw_data(), {.destination = folder / "packed"},
           [&](std::uint64_t done, std::uint64_t total) {
             EXPECT_EQ(done, last + 1);
             last = done;
             all = total;
           });
  EXPECT_EQ(last, 49u);
  EXPECT_EQ(all, 49u);
}

}  // namespace
}  // namespace impart::data

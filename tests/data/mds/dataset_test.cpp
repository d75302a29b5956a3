#include "impart/data/mds/dataset.h"

#include <gtest/gtest.h>

#include "impart/core/column_file.h"
#include "impart/core/error.h"
#include "impart/data/mds/pack.h"
#include "tests/data/mds/example_sets.h"
#include "tests/data/mds/shards.h"

namespace impart::data {
namespace {

using testing::as_span;
using testing::bytes_of;
using testing::contains;
using testing::message_of;
using testing::TemporaryFolder;

/// Samples of an array and a label.
void write_arrays(const std::string& folder, const std::string& encoding,
                  const std::vector<std::string>& arrays, std::int64_t label = 2) {
  std::filesystem::create_directories(folder);
  MdsWriter writer(
      folder, {.columns = {make_mds_column("class", "int"), make_mds_column("picture", encoding)}});
  for (const std::string& array : arrays) {
    const std::string class_bytes = bytes_of(label);
    writer.add(std::vector{as_span(class_bytes), as_span(array)});
  }
  writer.finish();
}

std::string decoded(const ExampleSet& set, std::uint64_t i) {
  std::string pixels(set.image_bytes(), '\0');
  const std::string sample = testing::read_sample(*set.payloads, i);
  set.decoder->decode(as_span(sample), {},
                      {reinterpret_cast<std::uint8_t*>(pixels.data()), pixels.size()});
  return pixels;
}

TEST(MdsDataset, FindsLabelsWithAndWithoutTheSidecar) {
  const TemporaryFolder folder;
  pack_mds({.train = testing::raw_set(30), .test = testing::raw_set(8)},
           {.destination = folder / "set", .shard_bytes = 700});
  const ExampleData with = open_mds({.root = folder / "set"});
  for (const char* name : {"train/labels.npy", "train/channels.json", "train/classes.json"}) {
    std::filesystem::remove(folder / "set" + "/" + name);
  }
  const ExampleData without = open_mds({.root = folder / "set"});
  EXPECT_EQ(with.train.labels, without.train.labels);
  EXPECT_EQ(without.train.classes, 4u);
  EXPECT_TRUE(without.train.class_names.empty());
  EXPECT_EQ(without.test.mean, (std::vector{0.485f, 0.456f, 0.406f}));
  EXPECT_EQ(with.test.mean, (std::vector{0.1f, 0.2f, 0.3f}));
}

TEST(MdsDataset, HonoursTheLimit) {
  const TemporaryFolder folder;
  pack_mds({.train = testing::raw_set(30), .test = testing::raw_set(8)},
           {.destination = folder / "set", .shard_bytes = 700});
  const ExampleData data = open_mds({.root = folder / "set", .limit = 11});
  EXPECT_EQ(data.train.count(), 11u);
  EXPECT_EQ(data.train.truth.size(), 11u);
  EXPECT_EQ(data.train.payloads->examples(), 11u);
  EXPECT_EQ(data.test.count(), 8u);
}

TEST(MdsDataset, UsesValWhereThereIsNoTest) {
  const TemporaryFolder folder;
  pack_mds({.train = testing::raw_set(5), .test = testing::raw_set(3)},
           {.destination = folder / "set"});
  std::filesystem::rename(folder / "set/test", folder / "set/val");
  EXPECT_EQ(open_mds({.root = folder / "set"}).test.count(), 3u);
  std::filesystem::remove_all(folder / "set/val");
  EXPECT_TRUE(contains(message_of<DataError>([&] { open_mds({.root = folder / "set"}); }),
                       "set/val/index.json: there is no such file: data.root must name"));
}

TEST(MdsDataset, DecodesPlanesAndPixels) {
  const TemporaryFolder folder;
  write_arrays(folder / "planes", "ndarray:uint8:3,1,2", {"rRgGbB"});
  EXPECT_EQ(decoded(open_mds_set({.folder = folder / "planes"}), 0), "rRgGbB");
  write_arrays(folder / "pixels", "ndarray:uint8:2,2,3", {"rgbRGBxyzXYZ"});
  const ExampleSet pixels = open_mds_set({.folder = folder / "pixels"});
  EXPECT_EQ(pixels.height, 2u);
  EXPECT_EQ(decoded(pixels, 0), "rRxXgGyYbBzZ");
  EXPECT_EQ(pixels.labels, std::vector<std::uint32_t>{2});
  EXPECT_EQ(pixels.classes, 3u);
  write_arrays(folder / "grey", "ndarray:uint8:2,2", {"abcd"});
  EXPECT_EQ(open_mds_set({.folder = folder / "grey"}).mean.size(), 1u);
}

TEST(MdsDataset, TakesTheShapeOfOpenArraysFromTheFirst) {
  const TemporaryFolder folder;
  const std::string shape = "\x0C\x03\x01\x02";  // three axes: 3, 1, 2
  write_arrays(folder / "set", "ndarray:uint8",
               {shape + "rRgGbB", shape + "sSgGbB",
                "\x0C\x03\x02\x01"
                "rRgGbB"});
  const ExampleSet set = open_mds_set({.folder = folder / "set"});
  EXPECT_EQ(set.width, 2u);
  EXPECT_EQ(decoded(set, 1), "sSgGbB");
  EXPECT_TRUE(contains(message_of<DataError>([&] { decoded(set, 2); }),
                       "an array of shape (3, 2, 1), unlike the first"));
}

TEST(MdsDataset, UsesTheColumnsItIsTold) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "set");
  MdsWriter writer(folder / "set", {.columns = {make_mds_column("a", "ndarray:uint8:1,1,2"),
                                                make_mds_column("b", "ndarray:uint8:1,1,1"),
                                                make_mds_column("label", "uint8"),
                                                make_mds_column("other", "int16")}});
  writer.add(std::vector{as_span("xy"), as_span("z"), as_span("\x01"),
                         as_span(std::string_view("\x05\x00", 2))});
  writer.finish();
  EXPECT_EQ(decoded(open_mds_set({.folder = folder / "set"}), 0), "xy");
  const ExampleSet told =
      open_mds_set({.folder = folder / "set", .image_column = "b", .label_column = "other"});
  EXPECT_EQ(decoded(told, 0), "z");
  EXPECT_EQ(told.labels, std::vector<std::uint32_t>{5});
  EXPECT_TRUE(contains(message_of<ConfigError>(
                           [&] { open_mds_set({.folder = folder / "set", .image_column = "c"}); }),
                       "set/index.json: there is no column 'c'"));
}

TEST(MdsDataset, RefusesSidecarsThatDoNotFit) {
  const TemporaryFolder folder;
  write_arrays(folder / "set", "ndarray:uint8:3,1,1", {"abc", "def"});
  const auto complaint = [&] {
    return message_of<DataError>([&] { open_mds_set({.folder = folder / "set"}); });
  };
  write_integers(folder / "set/labels.npy", "label", std::vector<std::uint32_t>{1, 2, 3});
  EXPECT_TRUE(contains(complaint(), "labels.npy: has 3 numbers, but the shards have 2 samples"));
  write_integers(folder / "set/labels.npy", "label", std::vector<std::uint32_t>{1, 4000000000});
  EXPECT_TRUE(contains(complaint(), "labels.npy: label 4000000000 of sample 1 is not in"));
  write_integers(folder / "set/labels.npy", "label", std::vector<std::uint32_t>{1, 2});
  folder.write("set/classes.json", "[\"a\", \"b\"]");
  EXPECT_TRUE(contains(complaint(), "classes.json: 2 names, but there is a label 2"));
  folder.write("set/classes.json", "{broken");
  EXPECT_TRUE(contains(complaint(), "classes.json: offset 2: is not JSON"));
  folder.write("set/classes.json", "[\"a\", \"b\", \"c\", \"d\"]");
  folder.write("set/channels.json", "{\"mean\": [1], \"std\": [1, 2]}");
  EXPECT_TRUE(contains(complaint(), "channels.json: 1 means, but 2 deviations"));
  folder.write("set/channels.json", "{\"mean\": [1], \"std\": [1]}");
  EXPECT_TRUE(contains(complaint(), "channels.json: 1 channels, but images have 3"));
  folder.write("set/channels.json", "{\"mean\": [1, 2, 3], \"std\": [1, 2, 3]}");
  EXPECT_EQ(open_mds_set({.folder = folder / "set"}).classes, 4u);
}

TEST(MdsDataset, NamesTheSampleWithAWrongLabel) {
  const TemporaryFolder folder;
  write_arrays(folder / "set", "ndarray:uint8:3,1,1", {"abc"}, -1);
  EXPECT_TRUE(contains(message_of<DataError>([&] { open_mds_set({.folder = folder / "set"}); }),
                       "shard.00000.mds, sample 0: its label is negative"));
}

TEST(MdsDataset, RefusesSetsThatDoNotBelongTogether) {
  const TemporaryFolder folder;
  write_arrays(folder / "set/train", "ndarray:uint8:3,1,1", {"abc"}, 1);
  write_arrays(folder / "set/test", "ndarray:uint8:3,1,1", {"abc"}, 6);
  EXPECT_EQ(open_mds({.root = folder / "set"}).train.classes, 7u);
  std::filesystem::remove_all(folder / "set/test");
  write_arrays(folder / "set/test", "ndarray:uint8:1,1,1", {"a"});
  EXPECT_EQ(message_of<DataError>([&] { open_mds({.root = folder / "set"}); }),
            "images of 3x1x1 for training, but of 1x1x1 for testing");
}

}  // namespace
}  // namespace impart::data

#include "impart/data/images/folder_index.h"

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/data/remote/listed_files.h"

namespace impart::data {
namespace {

std::string index_complaint(std::string_view text) {
  try {
    parse_folder_index(text, "here/index.csv");
    return "";
  } catch (const DataError& error) {
    return error.what();
  }
}

TEST(FolderIndex, ReadsBackWhatItWrites) {
  const std::vector<IndexedPhoto> photos = {
      {.path = "train/a, b/\"1\".jpg", .bytes = 7, .label = "a, b", .hash = "0123456789abcdef"},
      {.path = "val/c/2.png", .bytes = 0, .label = "c"}};
  const auto read = parse_folder_index(folder_index_text(photos), "x");
  ASSERT_EQ(read.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read[i].path, photos[i].path);
    EXPECT_EQ(read[i].bytes, photos[i].bytes);
    EXPECT_EQ(read[i].label, photos[i].label);
    EXPECT_EQ(read[i].hash, photos[i].hash);
  }
}

TEST(FolderIndex, ColumnsMayStandInAnyOrderAndHashesMayBeMissing) {
  const auto read = parse_folder_index("label,size,path,bytes\r\ncat,9,train/cat/1.jpg,5\r\n", "x");
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].path, "train/cat/1.jpg");
  EXPECT_EQ(read[0].bytes, 5u);
  EXPECT_EQ(read[0].hash, "");
}

TEST(FolderIndex, SaysWhatIsWrongAndInWhichLine) {
  const std::string head = "path,bytes,label,xxh3_64\n";
  const auto starts = [](const std::string& text, const char* with) {
    return text.starts_with(with);
  };
  EXPECT_TRUE(starts(index_complaint("path,label\n"), "here/index.csv:1: its first line"));
  EXPECT_TRUE(
      starts(index_complaint(head + "train/a/1.jpg,x,a,\n"), "here/index.csv:2: 'x' is no"));
  EXPECT_TRUE(starts(index_complaint(head + "train/a/1.jpg,1\n"), "here/index.csv:2: 2 fields"));
  EXPECT_TRUE(
      starts(index_complaint(head + "../1.jpg,1,a,\n"), "here/index.csv:2: path '../1.jpg'"));
  EXPECT_TRUE(starts(index_complaint(head + "/1.jpg,1,a,\n"), "here/index.csv:2: path '/1.jpg'"));
  EXPECT_TRUE(
      starts(index_complaint(head + "a/1.jpg,1,,\n"), "here/index.csv:2: there is no label"));
  EXPECT_TRUE(
      starts(index_complaint(head + "a/1.jpg,1,a,12\n"), "here/index.csv:2: '12' is no xxh3"));
  EXPECT_TRUE(starts(index_complaint(head), "here/index.csv: lists no photographs"));
}

TEST(FileSums, ReadsBackWhatItWritesAndNothingElse) {
  const FileSums sums = {{"index.json", "0011223344556677"}};
  EXPECT_EQ(parse_file_sums(file_sums_text(sums), "x"), sums);
  std::string damaged = file_sums_text(sums);
  damaged[damaged.find("index")] = 'x';
  EXPECT_THROW(parse_file_sums(damaged, "x"), DataError);
  EXPECT_THROW(parse_file_sums("{}", "x"), DataError);
  EXPECT_THROW(parse_file_sums("{\"version\": 2, \"xxh3_64\": {}}", "x"), DataError);
  EXPECT_THROW(parse_file_sums("{\"version\": 1, \"xxh3_64\": [1]}", "x"), DataError);
  EXPECT_THROW(parse_file_sums("nonsense", "x"), DataError);
}

}  // namespace
}  // namespace impart::data

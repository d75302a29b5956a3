#include "impart/data/mds/columns.h"

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "tests/data/mds/shards.h"

namespace impart::data {
namespace {

using testing::as_span;
using testing::as_string;
using testing::bytes_of;
using testing::contains;
using testing::message_of;

std::vector<MdsColumn> columns_of(std::initializer_list<std::pair<const char*, const char*>> rows) {
  std::vector<MdsColumn> columns;
  for (const auto& [name, encoding] : rows) columns.push_back(make_mds_column(name, encoding));
  return columns;
}

TEST(MdsColumns, KnowTheBytesOfEveryEncoding) {
  EXPECT_EQ(mds_fixed_bytes("int"), 8u);
  EXPECT_EQ(mds_fixed_bytes("uint8"), 1u);
  EXPECT_EQ(mds_fixed_bytes("int16"), 2u);
  EXPECT_EQ(mds_fixed_bytes("float16"), 2u);
  EXPECT_EQ(mds_fixed_bytes("float64"), 8u);
  EXPECT_EQ(mds_fixed_bytes("ndarray:float32:2,5"), 40u);
  for (const char* variable : {"str", "bytes", "jpeg", "png", "json", "ndarray", "ndarray:uint8"}) {
    EXPECT_EQ(mds_fixed_bytes(variable), 0u) << variable;
  }
  EXPECT_THROW(make_mds_column("x", "int7"), ConfigError);
  EXPECT_THROW(make_mds_column("x", "ndarray:int7"), ConfigError);
}

TEST(MdsColumns, JoinAndSplitEveryKindOfValue) {
  const auto columns = columns_of({{"a", "str"},
                                   {"b", "int"},
                                   {"c", "bytes"},
                                   {"d", "float32"},
                                   {"e", "uint8"},
                                   {"f", "ndarray:uint16:3"},
                                   {"g", "json"}});
  const std::vector<std::string> values = {
      "text", bytes_of(std::int64_t{-5}), "", bytes_of(1.5f), "\x07", "abcdef", "{}"};
  std::vector<std::span<const std::byte>> spans;
  for (const std::string& value : values) spans.push_back(as_span(value));
  const std::vector<std::byte> sample = join_mds_values(columns, spans);
  // Three sizes first, then all values.
  EXPECT_EQ(as_string(sample).substr(0, 16), bytes_of(4u) + bytes_of(0u) + bytes_of(2u) + "text");
  for (std::size_t i = 0; i < columns.size(); ++i) {
    EXPECT_EQ(as_string(mds_value(columns, i, sample)), values[i]) << columns[i].name;
  }
  EXPECT_EQ(least_mds_sample(columns), 12u + 8 + 4 + 1 + 6);
}

TEST(MdsColumns, RefuseValuesOfTheWrongSize) {
  const auto columns = columns_of({{"label", "int"}});
  EXPECT_THROW(join_mds_values(columns, std::vector{as_span("1234")}), ConfigError);
  EXPECT_THROW(join_mds_values(columns, {}), ConfigError);
}

TEST(MdsColumns, RefuseSamplesWhoseSizesDoNotAddUp) {
  const auto columns = columns_of({{"a", "bytes"}, {"b", "uint8"}});
  const std::string sample = bytes_of(3u) + "abc" + "\x01";
  EXPECT_EQ(as_string(mds_value(columns, 1, as_span(sample))), "\x01");
  for (const std::string& bad : {sample + "x", sample.substr(0, 7), sample.substr(0, 2),
                                 std::string(), bytes_of(0xFFFFFFFFu) + "abc\x01"}) {
    EXPECT_THROW(mds_value(columns, 1, as_span(bad)), DataError) << bad.size();
  }
}

TEST(MdsColumns, FindTheImage) {
  EXPECT_EQ(find_mds_image(columns_of({{"a", "int"}, {"b", "bytes"}, {"c", "jpeg"}}), ""), 2u);
  EXPECT_EQ(find_mds_image(columns_of({{"a", "ndarray:uint8:3,2,2"}, {"b", "png"}}), ""), 1u);
  EXPECT_EQ(find_mds_image(columns_of({{"a", "str"}, {"b", "ndarray"}}), ""), 1u);
  EXPECT_EQ(find_mds_image(columns_of({{"a", "jpeg"}, {"b", "jpeg"}}), "b"), 1u);
  const std::vector<MdsColumn> pil = {{"image", "pil", 0}, {"label", "int", 8}};
  EXPECT_TRUE(contains(message_of<DataError>([&] { find_mds_image(pil, ""); }),
                       "'pil' and lists are not supported"));
  EXPECT_EQ(message_of<ConfigError>([&] { find_mds_image(pil, "image"); }),
            "column 'image' is stored as 'pil', which cannot be read as the image");
  EXPECT_EQ(message_of<ConfigError>([&] { find_mds_image(pil, "photo"); }),
            "there is no column 'photo' for the image; the columns are image (pil), label (int)");
}

TEST(MdsColumns, FindTheLabel) {
  EXPECT_EQ(find_mds_label(columns_of({{"a", "int"}, {"label", "uint8"}}), ""), 1u);
  EXPECT_EQ(find_mds_label(columns_of({{"class", "int"}, {"x", "int"}}), ""), 0u);
  EXPECT_EQ(find_mds_label(columns_of({{"label", "str"}, {"x", "int32"}}), ""), 1u);
  EXPECT_EQ(find_mds_label(columns_of({{"label", "int"}, {"x", "int"}}), "x"), 1u);
  EXPECT_THROW(find_mds_label(columns_of({{"x", "int"}, {"y", "int"}}), ""), DataError);
  EXPECT_THROW(find_mds_label(columns_of({{"x", "str"}}), ""), DataError);
  EXPECT_THROW(find_mds_label(columns_of({{"label", "str"}}), "label"), ConfigError);
}

TEST(MdsColumns, ReadLabelsOfAllIntegerTypes) {
  EXPECT_EQ(read_mds_label("int", as_span(bytes_of(std::int64_t{999}))), 999u);
  EXPECT_EQ(read_mds_label("uint8", as_span("\xC8")), 200u);
  EXPECT_EQ(read_mds_label("uint16", as_span(bytes_of(std::uint16_t{65535}))), 65535u);
  EXPECT_EQ(read_mds_label("int32", as_span(bytes_of(std::int32_t{7}))), 7u);
  EXPECT_THROW(read_mds_label("int8", as_span("\xC8")), DataError);
  EXPECT_THROW(read_mds_label("int64", as_span(bytes_of(std::int64_t{-1}))), DataError);
  EXPECT_THROW(read_mds_label("uint64", as_span(bytes_of(std::uint64_t{1} << 40))), DataError);
  EXPECT_THROW(read_mds_label("int", as_span("abc")), DataError);
}

}  // namespace
}  // namespace impart::data

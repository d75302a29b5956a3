#include "impart/data/mds/array.h"

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "tests/data/mds/shards.h"

namespace impart::data {
namespace {

using testing::as_span;
using testing::as_string;
using testing::bytes_of;

using Shape = std::vector<std::uint64_t>;

MdsArray view(std::string_view encoding, std::string_view value) {
  return view_mds_array(parse_mds_array_encoding(encoding), as_span(value));
}

TEST(MdsArray, TakesTypeAndShapeFromTheEncodingOrTheValue) {
  const std::string elements = "abcdef";
  const MdsArray fixed = view("ndarray:uint8:2,3", elements);
  EXPECT_EQ(fixed.shape, (Shape{2, 3}));
  EXPECT_EQ(as_string(fixed.elements), elements);
  // Two axes, extents of one byte.
  const std::string shaped_value = "\x08\x02\x03" + elements;
  const MdsArray shaped = view("ndarray:uint8", shaped_value);
  EXPECT_EQ(shaped.shape, (Shape{2, 3}));
  EXPECT_EQ(as_string(shaped.elements), elements);
  // float32; one axis, extents of two bytes.
  const MdsArray open =
      view("ndarray", "\x22\x05" + bytes_of(std::uint16_t{300}) + std::string(1200, 'x'));
  EXPECT_EQ(open.type, "float32");
  EXPECT_EQ(open.shape, Shape{300});
}

TEST(MdsArray, RefusesWhatDoesNotFit) {
  EXPECT_THROW(view("ndarray:uint8:2,3", "abcde"), DataError);
  EXPECT_THROW(view("ndarray:uint8",
                    "\x08\x02\x03"
                    "abcdefg"),
               DataError);
  EXPECT_THROW(view("ndarray:uint8", "\x08\x02"), DataError);
  EXPECT_THROW(view("ndarray:uint8", ""), DataError);
  EXPECT_THROW(view("ndarray", "\x63\x04\x01x"), DataError);
  // Four axes of 2^64 - 1 must not overflow to something small.
  EXPECT_THROW(view("ndarray:uint8", "\x13" + std::string(32, '\xFF')), DataError);
  for (const char* bad :
       {"ndarray:complex64", "ndarray:uint8:", "ndarray:uint8:3,", "ndarray:uint8:0",
        "ndarray:uint8:3x3", "ndarray:uint8:99999,99999,99999", "int"}) {
    EXPECT_THROW(parse_mds_array_encoding(bad), DataError) << bad;
  }
}

TEST(MdsArray, SeesWhichShapesAreImages) {
  const auto layout = [](const Shape& shape) { return mds_image_layout("uint8", shape); };
  EXPECT_EQ(layout({3, 32, 30}), (MdsImageLayout{3, 32, 30, true}));
  EXPECT_EQ(layout({32, 30, 3}), (MdsImageLayout{3, 32, 30, false}));
  EXPECT_EQ(layout({1, 28, 28}), (MdsImageLayout{1, 28, 28, true}));
  EXPECT_EQ(layout({28, 28}), (MdsImageLayout{1, 28, 28, true}));
  EXPECT_THROW(layout({5, 28, 28}), DataError);
  EXPECT_THROW(layout({28}), DataError);
  EXPECT_THROW(layout({3, 1 << 20, 1}), DataError);
  EXPECT_THROW(mds_image_layout("float32", Shape{3, 32, 32}), DataError);
}

}  // namespace
}  // namespace impart::data

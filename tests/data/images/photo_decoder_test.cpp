#include "impart/data/images/photo_decoder.h"

#include <cmath>
#include <thread>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/data/images/photo_crop.h"
#include "impart/data/payloads/raw_decoder.h"
#include "tests/data/images/pictures.h"
#include "tests/support/temporary_folder.h"

// What the decoder makes of all kinds of files is compared with Pillow in photos_test.py.

namespace impart::data {
namespace {

using testing::message_of;

std::vector<std::uint8_t> decoded(const std::string& content, const DecodeChoices& choices = {},
                                  std::uint32_t size = 48) {
  std::vector<std::uint8_t> pixels(std::size_t{3} * size * size);
  make_photo_decoder({.size = size})->decode(std::as_bytes(std::span(content)), choices, pixels);
  return pixels;
}

TEST(PhotoDecoder, GivesAnInterlacedPictureAsAnyOther) {
  EXPECT_EQ(decoded(testing::png_of(61, 83, true)), decoded(testing::png_of(61, 83)));
  const DecodeChoices choices = decode_choices(1, 2, ExampleId{3});
  EXPECT_EQ(decoded(testing::png_of(61, 83, true), choices),
            decoded(testing::png_of(61, 83), choices));
}

TEST(PhotoDecoder, DependsOnTheChoicesOnlyInTraining) {
  const std::string content = testing::jpeg_of(90, 70);
  DecodeChoices first = decode_choices(1, 0, ExampleId{0});
  DecodeChoices second = decode_choices(1, 1, ExampleId{0});
  EXPECT_EQ(decoded(content, first), decoded(content, first));
  EXPECT_NE(decoded(content, first), decoded(content, second));
  first.random = second.random = false;
  EXPECT_EQ(decoded(content, first), decoded(content, second));
}

TEST(PhotoDecoder, RefusesPicturesOverItsLimit) {
  const auto decoder = make_photo_decoder({.size = 8, .largest_pixels = 6299});
  const std::string content = testing::png_of(90, 70);
  std::vector<std::uint8_t> pixels(192);
  EXPECT_EQ(message_of<DataError>(
                [&] { decoder->decode(std::as_bytes(std::span(content)), {}, pixels); }),
            "a photo of 90x70 pixels, where 6299 are the most");
}

TEST(PhotoDecoder, HoldsNoLargePictureWhole) {
  const auto decoder = make_photo_decoder({.size = 8, .largest_held_pixels = 6299});
  std::vector<std::uint8_t> pixels(192);
  const auto decode = [&](const std::string& content) {
    decoder->decode(std::as_bytes(std::span(content)), {}, pixels);
  };
  const std::vector<jpeg_scan_info> one_by_one = {
      {1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};
  for (const std::string& content :
       {testing::png_of(90, 70, true), testing::jpeg_of(90, 70, 0, one_by_one)}) {
    EXPECT_EQ(
        message_of<DataError>([&] { decode(content); }),
        "a photo of 90x70 pixels, where 6299 are the most of a progressive or interlaced one");
  }
  decode(testing::png_of(90, 70));
  decode(testing::jpeg_of(90, 70));
  EXPECT_EQ(message_of<DataError>([&] { decode(testing::png_of(70000, 1)); }),
            "a photo of 70000x1 pixels, where 65535 are the most of a side");
}

TEST(PhotoDecoder, RefusesAJpegOfVeryManyScans) {
  std::vector<jpeg_scan_info> scans = {{3, {0, 1, 2}, 0, 0, 0, 0}};
  for (int component = 0; component < 3; ++component) {
    for (int k = 1; k < 64; ++k) scans.push_back({1, {component}, k, k, 0, 0});
  }
  const std::string message =
      message_of<DataError>([&] { decoded(testing::jpeg_of(64, 64, 0, scans)); });
  EXPECT_TRUE(message.ends_with("over 100 scans")) << message;
  scans.resize(1 + 63);
  EXPECT_EQ(message_of<DataError>([&] { decoded(testing::jpeg_of(64, 64, 0, scans)); }), "");
}

TEST(PhotoDecoder, RefusesSizesThatCannotBe) {
  EXPECT_THROW(make_photo_decoder({.size = 0}), ConfigError);
  EXPECT_THROW(make_photo_decoder({.size = 1u << 20}), ConfigError);
  EXPECT_THROW(make_photo_decoder({.size = 8, .resize = 7}), ConfigError);
}

TEST(PhotoDecoder, TakesPicturesOfTheRightSizeAsTheyAreIfNothingIsToBeCutOff) {
  const std::string png = testing::png_of(48, 48);
  std::vector<std::uint8_t> whole(3 * 48 * 48), larger(3 * 55 * 55);
  make_photo_decoder({.size = 48, .resize = 48})->decode(std::as_bytes(std::span(png)), {}, whole);
  make_photo_decoder({.size = 55, .resize = 55})->decode(std::as_bytes(std::span(png)), {}, larger);
  EXPECT_NE(whole, decoded(png));  // which is cut out of 55 pixels
  const auto corner = [](const std::vector<std::uint8_t>& pixels) { return pixels.front(); };
  EXPECT_EQ(corner(whole), corner(larger));  // the corner of the picture itself
}

TEST(PhotoDecoder, ServesSeveralThreads) {
  const std::string jpeg = testing::jpeg_of(150, 120), png = testing::png_of(120, 150);
  const auto expected_jpeg = decoded(jpeg), expected_png = decoded(png);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 20; ++k) {
        EXPECT_EQ(decoded(jpeg), expected_jpeg);
        EXPECT_EQ(decoded(png), expected_png);
        EXPECT_THROW(decoded(jpeg.substr(0, jpeg.size() / 2)), DataError);
        EXPECT_THROW(decoded(png.substr(0, png.size() / 2)), DataError);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(RandomCrop, LiesInThePictureWhateverItsSize) {
  RandomStream random({.seed = 1, .purpose = Purpose("test")});
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const auto width = static_cast<std::uint32_t>(1 + random.below(i % 3 == 0 ? 4 : 600));
    const auto height = static_cast<std::uint32_t>(1 + random.below(i % 5 == 0 ? 4 : 600));
    const CropBox box = choose_random_crop(width, height, decode_choices(7, 0, ExampleId{i}));
    ASSERT_GE(box.width, 1u);
    ASSERT_GE(box.height, 1u);
    ASSERT_LE(box.left + box.width, width);
    ASSERT_LE(box.top + box.height, height);
  }
}

TEST(RandomCrop, IsTheOneItsWordsSay) {
  // Written out: the same draws as the header promises.
  for (std::uint64_t i = 0; i < 200; ++i) {
    const DecodeChoices choices = decode_choices(7, 1, ExampleId{i});
    RandomStream random({.seed = choices.words[0] + (std::uint64_t{choices.words[1]} << 32),
                         .purpose = Purpose("crop"),
                         .epoch = choices.words[2],
                         .worker = WorkerId{choices.words[3]}});
    const double area = 1e6 * (0.08 + 0.92 * random.uniform());
    const double ratio = std::exp(std::log(0.75) + 2 * std::log(4 / 3.) * random.uniform());
    const CropBox box = choose_random_crop(1000, 1000, choices);
    if (std::sqrt(area * ratio) > 1000 || std::sqrt(area / ratio) > 1000) continue;
    EXPECT_EQ(box.width, std::lround(std::sqrt(area * ratio)));
    EXPECT_EQ(box.height, std::lround(std::sqrt(area / ratio)));
    EXPECT_EQ(box.top, random.below(1001 - box.height));
    EXPECT_EQ(box.left, random.below(1001 - box.width));
  }
}

TEST(DecodeChoices, AreTheWordsOfTheirStream) {
  RandomStream random({.seed = 0x123456789abcdef, .purpose = Purpose("decode"), .epoch = 9});
  for (std::uint64_t i = 0; i < 100; ++i) {
    const DecodeChoices choices = decode_choices(0x123456789abcdef, 9, ExampleId{i});
    EXPECT_TRUE(choices.random);
    for (const std::uint32_t word : choices.words) EXPECT_EQ(word, random.next32());
  }
  EXPECT_THROW(decode_choices(1, 0, ExampleId{std::uint64_t{1} << 32}), Error);
}

TEST(RawDecoder, CopiesPixelsAndChecksTheirNumber) {
  const auto decoder = make_raw_decoder(4);
  const std::string content = "abcd";
  std::vector<std::uint8_t> pixels(4);
  decoder->decode(std::as_bytes(std::span(content)), {}, pixels);
  EXPECT_EQ(pixels, (std::vector<std::uint8_t>{'a', 'b', 'c', 'd'}));
  const std::string shorter = "abc";
  EXPECT_EQ(message_of<DataError>(
                [&] { decoder->decode(std::as_bytes(std::span(shorter)), {}, pixels); }),
            "3 bytes instead of the 4 of an image");
}

}  // namespace
}  // namespace impart::data

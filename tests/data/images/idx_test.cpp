#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/data/datasets.h"
#include "tests/data/images/data_files.h"

namespace impart::data {
namespace {

using testing::big_endian;
using testing::gzip;
using testing::idx_images;
using testing::idx_labels;
using testing::message_of;
using testing::TemporaryFolder;

constexpr std::string_view kTrainLabels("\x05\x00\x09", 3), kTestLabels("\x01", 1);

/// Three training images and one test image, 28×28.
void write_mnist(const TemporaryFolder& folder) {
  folder.write("train-images-idx3-ubyte", idx_images(3, 28, 28));
  folder.write("train-labels-idx1-ubyte", idx_labels(kTrainLabels));
  folder.write("t10k-images-idx3-ubyte", idx_images(1, 28, 28));
  folder.write("t10k-labels-idx1-ubyte", idx_labels(kTestLabels));
}

DataSpec spec_of(const TemporaryFolder& folder) {
  return {.name = "idx", .root = folder.path()};
}

std::string idx_complaint(const TemporaryFolder& folder) {
  return message_of<DataError>([&] { load_data(spec_of(folder)); });
}

void expect_the_three_images(const ImageSet& set) {
  EXPECT_EQ(set.count, 3u);
  EXPECT_EQ(set.channels, 1u);
  EXPECT_EQ(set.height, 28u);
  EXPECT_EQ(set.width, 28u);
  EXPECT_EQ(set.labels, (std::vector<std::uint32_t>{5, 0, 9}));
  ASSERT_EQ(set.pixels.size(), 3 * 784u);
  for (std::size_t k = 0; k < set.pixels.size(); ++k) ASSERT_EQ(set.pixels[k], k % 256);
}

TEST(Idx, StopsUnpackingWhereTheHeaderEnds) {
  const TemporaryFolder folder;
  write_mnist(folder);
  std::filesystem::remove(folder / "train-images-idx3-ubyte");
  const std::string blank(std::size_t{1} << 28, '\0');
  folder.write("train-images-idx3-ubyte.gz", gzip(idx_images(3, 28, 28) + blank));
  EXPECT_EQ(idx_complaint(folder), folder / "train-images-idx3-ubyte.gz" +
                                       ": unpacks to more than the 2368 bytes it can have");
}

TEST(Idx, ReadsImagesAndLabels) {
  const TemporaryFolder folder;
  write_mnist(folder);
  const ImageData data = load_data(spec_of(folder));
  expect_the_three_images(data.train);
  EXPECT_EQ(data.test.labels, (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(data.train.mean, std::vector{0.1307f});
  EXPECT_EQ(data.test.std, std::vector{0.3081f});
}

TEST(Idx, UnpacksGzip) {
  const TemporaryFolder folder;
  write_mnist(folder);
  for (const std::string name : {"train-images-idx3-ubyte", "train-labels-idx1-ubyte"}) {
    folder.write(name + ".gz", gzip(testing::read_text(folder / name)));
    std::filesystem::remove(folder / name);
  }
  expect_the_three_images(load_data(spec_of(folder)).train);
}

TEST(Idx, UnpacksGzipLargerThanOneStep) {
  const TemporaryFolder folder;
  write_mnist(folder);
  constexpr std::uint32_t kCount = 3000;  // 2.3 MB
  std::filesystem::remove(folder / "train-images-idx3-ubyte");
  folder.write("train-images-idx3-ubyte.gz", gzip(idx_images(kCount, 28, 28)));
  folder.write("train-labels-idx1-ubyte", idx_labels(std::string(kCount, '\x07')));
  const ImageSet set = load_data(spec_of(folder)).train;
  ASSERT_EQ(set.pixels.size(), kCount * 784u);
  for (std::size_t k = 0; k < set.pixels.size(); ++k) ASSERT_EQ(set.pixels[k], k % 256);
}

TEST(Idx, TakesOnlyTheFirstExamplesUnderALimit) {
  const TemporaryFolder folder;
  write_mnist(folder);
  DataSpec spec = spec_of(folder);
  spec.limit = 2;
  const ImageSet set = load_data(spec).train;
  EXPECT_EQ(set.labels, (std::vector<std::uint32_t>{5, 0}));
  EXPECT_EQ(set.pixels.size(), 2 * 784u);
}

TEST(Idx, RejectsTruncatedGzip) {
  const TemporaryFolder folder;
  write_mnist(folder);
  std::filesystem::remove(folder / "train-images-idx3-ubyte");
  const std::string packed = gzip(idx_images(3, 28, 28));
  const std::string path =
      folder.write("train-images-idx3-ubyte.gz", packed.substr(0, packed.size() - 9));
  EXPECT_EQ(idx_complaint(folder), path + ": byte " + std::to_string(packed.size() - 9) +
                                       ": the gzip stream is truncated");
}

TEST(Idx, RejectsDamagedGzip) {
  const TemporaryFolder folder;
  write_mnist(folder);
  std::filesystem::remove(folder / "train-images-idx3-ubyte");
  std::string packed = gzip(idx_images(3, 28, 28));
  packed[packed.size() - 6] = static_cast<char>(packed[packed.size() - 6] ^ 1);  // the checksum
  const std::string path = folder.write("train-images-idx3-ubyte.gz", packed);
  EXPECT_NE(idx_complaint(folder).find("damaged gzip stream"), std::string::npos)
      << idx_complaint(folder);
  folder.write("train-images-idx3-ubyte.gz", "this is no gzip");
  EXPECT_NE(idx_complaint(folder).find(path + ": byte "), std::string::npos)
      << idx_complaint(folder);
}

TEST(Idx, RejectsBytesAfterTheGzipStream) {
  const TemporaryFolder folder;
  write_mnist(folder);
  std::filesystem::remove(folder / "train-images-idx3-ubyte");
  const std::string packed = gzip(idx_images(3, 28, 28));
  const std::string path = folder.write("train-images-idx3-ubyte.gz", packed + "abc");
  EXPECT_EQ(idx_complaint(folder), path + ": byte " + std::to_string(packed.size()) +
                                       ": 3 bytes left over after the gzip stream");
}

TEST(Idx, RejectsAWrongMagicNumber) {
  const TemporaryFolder folder;
  write_mnist(folder);
  const std::string path =
      folder.write("t10k-images-idx3-ubyte", idx_labels(kTestLabels) + "12345678");
  EXPECT_EQ(idx_complaint(folder), path +
                                       ": byte 0: magic number 0x00000801 instead of 0x00000803 "
                                       "(unsigned bytes in 3 dimensions)");
}

TEST(Idx, RejectsAShortHeader) {
  const TemporaryFolder folder;
  write_mnist(folder);
  const std::string path = folder.write("train-labels-idx1-ubyte", big_endian(0x0801));
  EXPECT_EQ(idx_complaint(folder), path + ": byte 4: ends inside its header of 8 bytes");
}

TEST(Idx, RejectsTruncatedDataAndTrailingBytes) {
  const TemporaryFolder folder;
  write_mnist(folder);
  const std::string whole = idx_images(3, 28, 28);
  const std::string path = folder.write("train-images-idx3-ubyte", whole.substr(0, 2000));
  EXPECT_EQ(idx_complaint(folder), path +
                                       ": byte 2000: its header promises 2352 bytes of data, but "
                                       "there are 1984: truncated");
  folder.write("train-images-idx3-ubyte", whole + "x");
  EXPECT_EQ(idx_complaint(folder), path +
                                       ": byte 2368: its header promises 2352 bytes of data, but "
                                       "there are 2353: bytes left over");
}

TEST(Idx, RejectsImpossibleExtents) {
  const TemporaryFolder folder;
  write_mnist(folder);
  const std::string path =
      folder.write("train-images-idx3-ubyte",
                   big_endian(0x0803) + big_endian(3) + big_endian(28) + big_endian(0xFFFFFFFF));
  EXPECT_EQ(idx_complaint(folder),
            path + ": byte 12: dimension 2 has extent 4294967295, which cannot be");
}

TEST(Idx, RejectsAWrongLabel) {
  const TemporaryFolder folder;
  write_mnist(folder);
  const std::string path =
      folder.write("train-labels-idx1-ubyte", idx_labels(std::string_view("\x05\x0A\x09", 3)));
  EXPECT_EQ(idx_complaint(folder), path + ": byte 9: record 1 has label 10, which is not in 0..9");
}

TEST(Idx, RejectsAnotherNumberOfLabelsThanImages) {
  const TemporaryFolder folder;
  write_mnist(folder);
  const std::string path = folder.write("train-labels-idx1-ubyte", idx_labels(kTestLabels));
  EXPECT_EQ(idx_complaint(folder), path + ": byte 4: 1 labels for the 3 images of " +
                                       (folder / "train-images-idx3-ubyte"));
}

TEST(Idx, RejectsTestImagesOfAnotherSize) {
  const TemporaryFolder folder;
  write_mnist(folder);
  folder.write("t10k-images-idx3-ubyte", idx_images(1, 32, 28));
  EXPECT_EQ(idx_complaint(folder),
            folder.path() + ": training images are 28x28, test images 32x28");
}

TEST(Idx, SaysWhichFileIsMissingAndWhatToDo) {
  const TemporaryFolder folder;
  const std::string message = idx_complaint(folder);
  EXPECT_NE(message.find(folder / "train-images-idx3-ubyte"), std::string::npos) << message;
  EXPECT_NE(message.find("data.root"), std::string::npos) << message;
}

}  // namespace
}  // namespace impart::data

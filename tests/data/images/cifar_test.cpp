#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/data/datasets.h"
#include "tests/data/images/data_files.h"

namespace impart::data {
namespace {

using testing::cifar_records;
using testing::message_of;

/// Five training files of two records each and a test file of one: labels 0, 1 | 2, 3 | … and 9.
void write_cifar10(const testing::TemporaryFolder& folder) {
  for (int k = 0; k < 5; ++k) {
    folder.write("data_batch_" + std::to_string(k + 1) + ".bin",
                 cifar_records({{2 * k}, {2 * k + 1}}));
  }
  folder.write("test_batch.bin", cifar_records({{9}}));
}

void write_cifar100(const testing::TemporaryFolder& folder) {
  folder.write("train.bin", cifar_records({{3, 99}, {19, 0}, {0, 50}}));
  folder.write("test.bin", cifar_records({{1, 2}}));
}

DataSpec spec_of(std::string name, const testing::TemporaryFolder& folder) {
  return {.name = std::move(name), .root = folder.path()};
}

std::string complaint(const DataSpec& spec) {
  return message_of<DataError>([&] { load_data(spec); });
}

TEST(Cifar10, ReadsItsFilesInOrder) {
  const testing::TemporaryFolder folder;
  write_cifar10(folder);
  const ImageData data = load_data(spec_of("cifar10", folder));
  EXPECT_EQ(data.train.count, 10u);
  EXPECT_EQ(data.train.labels, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(data.test.labels, (std::vector<std::uint32_t>{9}));
  EXPECT_EQ(data.train.classes, 10u);
  EXPECT_EQ(data.train.class_names[9], "truck");
  EXPECT_EQ(data.train.pixels.size(), 30720u);
  EXPECT_EQ(data.train.mean, (std::vector{0.4914f, 0.4822f, 0.4465f}));
  EXPECT_EQ(data.test.std, (std::vector{0.2023f, 0.1994f, 0.2010f}));
  for (std::size_t p = 0; p < 3072; ++p) ASSERT_EQ(data.train.image(7)[p], (7 + p) % 251);
}

TEST(Cifar10, TakesOnlyTheFirstExamplesUnderALimit) {
  const testing::TemporaryFolder folder;
  write_cifar10(folder);
  std::filesystem::remove(folder / "data_batch_3.bin");
  DataSpec spec = spec_of("cifar10", folder);
  spec.limit = 3;
  const ImageData data = load_data(spec);
  EXPECT_EQ(data.train.labels, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(data.train.pixels.size(), 3 * 3072u);
  EXPECT_EQ(data.test.count, 1u);
}

TEST(Cifar10, TakesEverythingUnderALargeLimit) {
  const testing::TemporaryFolder folder;
  write_cifar10(folder);
  DataSpec spec = spec_of("cifar10", folder);
  spec.limit = 1000;
  EXPECT_EQ(load_data(spec).train.count, 10u);
}

TEST(Cifar10, SaysWhichFileIsMissingAndWhatToDo) {
  const testing::TemporaryFolder folder;
  write_cifar10(folder);
  std::filesystem::remove(folder / "data_batch_4.bin");
  const std::string message = complaint(spec_of("cifar10", folder));
  EXPECT_NE(message.find(folder / "data_batch_4.bin"), std::string::npos) << message;
  EXPECT_NE(message.find("data.root"), std::string::npos) << message;
  EXPECT_NE(message.find("cifar-10-binary.tar.gz"), std::string::npos) << message;
}

TEST(Cifar10, RejectsATruncatedFile) {
  const testing::TemporaryFolder folder;
  write_cifar10(folder);
  const std::string path =
      folder.write("data_batch_2.bin", cifar_records({{2}, {3}}).substr(0, 3073 + 100));
  EXPECT_EQ(complaint(spec_of("cifar10", folder)),
            path + ": byte 3073: record 1 has only 100 of its 3073 bytes");
}

TEST(Cifar10, RejectsTrailingBytes) {
  const testing::TemporaryFolder folder;
  write_cifar10(folder);
  const std::string path = folder.write("test_batch.bin", cifar_records({{9}}) + "x");
  EXPECT_EQ(complaint(spec_of("cifar10", folder)),
            path + ": byte 3073: record 1 has only 1 of its 3073 bytes");
}

TEST(Cifar10, RejectsAnEmptyFile) {
  const testing::TemporaryFolder folder;
  write_cifar10(folder);
  const std::string path = folder.write("data_batch_1.bin", "");
  EXPECT_EQ(complaint(spec_of("cifar10", folder)), path + ": the file is empty");
}

TEST(Cifar10, RejectsAWrongLabel) {
  const testing::TemporaryFolder folder;
  write_cifar10(folder);
  const std::string path = folder.write("data_batch_5.bin", cifar_records({{8}, {10}}));
  EXPECT_EQ(complaint(spec_of("cifar10", folder)),
            path + ": byte 3073: record 1 has label 10, which is not in 0..9");
}

TEST(Cifar100, GivesFineOrCoarseLabels) {
  const testing::TemporaryFolder folder;
  write_cifar100(folder);
  DataSpec spec = spec_of("cifar100", folder);
  const ImageData fine = load_data(spec);
  EXPECT_EQ(fine.train.labels, (std::vector<std::uint32_t>{99, 0, 50}));
  EXPECT_EQ(fine.train.classes, 100u);
  EXPECT_TRUE(fine.train.class_names.empty());
  spec.coarse = true;
  const ImageData coarse = load_data(spec);
  EXPECT_EQ(coarse.train.labels, (std::vector<std::uint32_t>{3, 19, 0}));
  EXPECT_EQ(coarse.train.classes, 20u);
  EXPECT_EQ(coarse.train.pixels, fine.train.pixels);
  EXPECT_EQ(fine.train.image(1)[5], (19 + 5) % 251);
}

TEST(Cifar100, RejectsAWrongLabelOfEitherKind) {
  const testing::TemporaryFolder folder;
  write_cifar100(folder);
  std::string path = folder.write("train.bin", cifar_records({{3, 99}, {19, 100}}));
  EXPECT_EQ(complaint(spec_of("cifar100", folder)),
            path + ": byte 3075: record 1 has label 100, which is not in 0..99");
  path = folder.write("train.bin", cifar_records({{20, 99}}));
  EXPECT_EQ(complaint(spec_of("cifar100", folder)),
            path + ": byte 0: record 0 has label 20, which is not in 0..19");
}

TEST(Cifar100, ReadsTheNamesBesideItsRecords) {
  const testing::TemporaryFolder folder;
  write_cifar100(folder);
  std::string names;
  for (int k = 0; k < 20; ++k) names += "kind" + std::to_string(k) + "\n";
  const std::string path = folder.write("coarse_label_names.txt", names + "\n");
  DataSpec spec = spec_of("cifar100", folder);
  spec.coarse = true;
  const ImageData data = load_data(spec);
  ASSERT_EQ(data.test.class_names.size(), 20u);
  EXPECT_EQ(data.test.class_names[19], "kind19");
  folder.write("coarse_label_names.txt", "one\ntwo\n");
  EXPECT_EQ(complaint(spec), path + ": there are 2 names for 20 classes");
}

}  // namespace
}  // namespace impart::data

#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/data/datasets.h"
#include "impart/data/images/photo_decoder.h"
#include "tests/data/images/data_files.h"
#include "tests/data/images/pictures.h"

namespace impart::data {
namespace {

using testing::message_of;
using testing::TemporaryFolder;

std::vector<std::uint8_t> image_of(const ExampleSet& set, std::uint64_t id) {
  std::vector<std::byte> payload(set.payloads->payload_bytes(ExampleId{id}));
  set.payloads->read(ExampleId{id}, payload);
  std::vector<std::uint8_t> pixels(set.image_bytes());
  set.decoder->decode(payload, {}, pixels);
  return pixels;
}

void expect_same(const ExampleSet& opened, const ImageSet& loaded) {
  ASSERT_EQ(opened.count(), loaded.count);
  ASSERT_EQ(opened.payloads->examples(), loaded.count);
  EXPECT_EQ(opened.channels, loaded.channels);
  EXPECT_EQ(opened.height, loaded.height);
  EXPECT_EQ(opened.width, loaded.width);
  EXPECT_EQ(opened.classes, loaded.classes);
  EXPECT_EQ(opened.labels, loaded.labels);
  EXPECT_EQ(opened.truth, loaded.truth);
  EXPECT_EQ(opened.mean, loaded.mean);
  EXPECT_EQ(opened.std, loaded.std);
  EXPECT_EQ(opened.class_names, loaded.class_names);
  for (std::uint64_t i = 0; i < loaded.count; ++i) {
    const std::span<const std::uint8_t> image = loaded.image(i);
    ASSERT_EQ(image_of(opened, i), std::vector(image.begin(), image.end())) << i;
  }
}

/// Files of every data set that reads some and can be loaded, in one folder.
void write_data(const TemporaryFolder& folder) {
  for (int k = 1; k <= 5; ++k) {
    folder.write(fmt::format("data_batch_{}.bin", k), testing::cifar_records({{k}, {k + 1}, {9}}));
  }
  folder.write("test_batch.bin", testing::cifar_records({{3}, {2}}));
  folder.write("train.bin", testing::cifar_records({{3, 50}, {19, 99}, {0, 0}}));
  folder.write("test.bin", testing::cifar_records({{1, 2}}));
  folder.write("train-images-idx3-ubyte", testing::idx_images(3, 4, 5));
  folder.write("train-labels-idx1-ubyte", testing::idx_labels({"\1\2\3", 3}));
  folder.write("t10k-images-idx3-ubyte", testing::idx_images(2, 4, 5));
  folder.write("t10k-labels-idx1-ubyte", testing::idx_labels({"\0\5", 2}));
}

void pack_all(const TemporaryFolder& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    paths.push_back(entry.path());
  }
  for (const std::filesystem::path& path : paths) {
    folder.write(path.filename().string() + ".gz", testing::gzip(testing::read_text(path)));
    std::filesystem::remove(path);
  }
}

void expect_openers_give_what_loaders_give(const TemporaryFolder& folder) {
  for (const DatasetEntry& entry : kDatasets) {
    if (entry.from.load == nullptr) continue;
    for (const std::uint64_t limit : {0, 1, 2, 4}) {
      const DataSpec spec{.name = std::string(entry.name),
                          .root = folder.path(),
                          .limit = limit,
                          .train_examples = 40,
                          .test_examples = 7};
      SCOPED_TRACE(fmt::format("{}, limit {}", entry.name, limit));
      const ExampleData opened = open_data(spec);
      const ImageData loaded = load_data(spec);
      expect_same(opened.train, loaded.train);
      expect_same(opened.test, loaded.test);
    }
  }
}

TEST(Openers, GiveWhatTheLoadersGive) {
  const TemporaryFolder folder;
  write_data(folder);
  expect_openers_give_what_loaders_give(folder);
}

TEST(Openers, GiveWhatTheLoadersGiveOfPackedFiles) {
  const TemporaryFolder folder;
  write_data(folder);
  pack_all(folder);
  expect_openers_give_what_loaders_give(folder);
}

TEST(Openers, ReadFromDiskWhatIsNotPacked) {
  const TemporaryFolder folder;
  write_data(folder);
  for (const char* name : {"cifar10", "cifar100", "idx"}) {
    const ExampleSet set = open_data({.name = name, .root = folder.path()}).train;
    std::vector<std::byte> payload(set.image_bytes());
    EXPECT_EQ(set.payloads->read(ExampleId{1}, payload), set.image_bytes()) << name;
    EXPECT_EQ(set.payloads->describe(ExampleId{1}).find(folder.path()), 0u) << name;
  }
}

TEST(Openers, CheckAsTheLoadersDo) {
  const TemporaryFolder folder;
  write_data(folder);
  folder.write("data_batch_2.bin", testing::cifar_records({{1}, {10}}));
  folder.write("test.bin", "too short");
  folder.write("train-labels-idx1-ubyte", testing::idx_labels({"\1\2\xF", 3}));
  for (const char* name : {"cifar10", "cifar100", "idx"}) {
    const DataSpec spec{.name = name, .root = folder.path()};
    const std::string message = message_of<DataError>([&] { load_data(spec); });
    EXPECT_NE(message, "") << name;
    EXPECT_EQ(message_of<DataError>([&] { open_data(spec); }), message) << name;
  }
}

TEST(Openers, OfEveryDataSetExist) {
  for (const DatasetEntry& entry : kDatasets) {
    EXPECT_EQ(entry.from.open != nullptr, entry.input == Input::kImages) << entry.name;
    EXPECT_EQ(entry.from.load_text != nullptr, entry.input == Input::kTokens) << entry.name;
  }
}

TEST(LoadData, SaysThatADataSetCanOnlyBeOpened) {
  EXPECT_EQ(message_of<ConfigError>([] { load_data({.name = "imagefolder"}); }),
            "data set 'imagefolder' cannot be held in memory as pixels, only opened");
}

/// Two classes of photos for training and one for testing.
void write_photos(const TemporaryFolder& folder) {
  folder.write("train/cat/b.jpg", testing::jpeg_of(40, 30, 1));
  folder.write("train/cat/a.PNG", testing::png_of(30, 30));
  folder.write("train/cat/a/z.jpeg", testing::jpeg_of(30, 40, 2));
  folder.write("train/cat/notes.txt", "no photo");
  folder.write("train/cat/.hidden.jpg", "no photo");
  folder.write("train/Dog/1.JPEG", testing::jpeg_of(50, 30, 3));
  folder.write("train/read.me", "not a class");
  folder.write("val/cat/x.jpg", testing::jpeg_of(60, 30, 4));
}

ExampleData open_folder(const TemporaryFolder& folder, std::uint64_t limit = 0) {
  return open_data(
      {.name = "imagefolder", .root = folder.path(), .limit = limit, .image_size = 16});
}

std::string folder_complaint(const TemporaryFolder& folder) {
  return message_of<DataError>([&] { open_folder(folder); });
}

TEST(ImageFolder, OrdersClassesAndFilesByTheirBytes) {
  const TemporaryFolder folder;
  write_photos(folder);
  const ExampleData data = open_folder(folder);
  EXPECT_EQ(data.train.class_names, (std::vector<std::string>{"Dog", "cat"}));
  EXPECT_EQ(data.train.labels, (std::vector<std::uint32_t>{0, 1, 1, 1}));
  const std::vector<std::string> expected{"Dog/1.JPEG", "cat/a.PNG", "cat/a/z.jpeg", "cat/b.jpg"};
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(data.train.payloads->describe(ExampleId{i}), folder / ("train/" + expected[i]));
    EXPECT_EQ(data.train.payloads->payload_bytes(ExampleId{i}),
              std::filesystem::file_size(folder / ("train/" + expected[i])));
    EXPECT_EQ(image_of(data.train, i).size(), 3u * 16 * 16);
  }
  EXPECT_EQ(data.test.labels, (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(data.test.classes, 2u);
  EXPECT_EQ(data.test.class_names, data.train.class_names);
  EXPECT_EQ(data.train.mean, (std::vector{0.485f, 0.456f, 0.406f}));
}

TEST(ImageFolder, HasPhotosOf224PixelsUnlessToldOtherwise) {
  const TemporaryFolder folder;
  write_photos(folder);
  EXPECT_EQ(open_data({.name = "imagefolder", .root = folder.path()}).test.height, 224u);
}

TEST(ImageFolder, SpreadsALimitOverTheClasses) {
  const TemporaryFolder folder;
  write_photos(folder);
  const ExampleSet set = open_folder(folder, 2).train;
  EXPECT_EQ(set.labels, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(set.payloads->describe(ExampleId{1}), folder / "train/cat/a/z.jpeg");
  EXPECT_EQ(open_folder(folder, 99).train.count(), 4u);
}

TEST(ImageFolder, TakesTestPhotosFromTestWhereThereIsNoVal) {
  const TemporaryFolder folder;
  write_photos(folder);
  std::filesystem::rename(folder / "val", folder / "test");
  EXPECT_EQ(open_folder(folder).test.count(), 1u);
}

TEST(ImageFolder, SaysWhatItExpects) {
  const TemporaryFolder folder;
  folder.write("cat/a.png", testing::png_of(3, 3));
  const std::string advice =
      ": data.root must name a folder with train/CLASS/*.jpg|jpeg|png and val/CLASS/… or "
      "test/CLASS/…";
  EXPECT_EQ(folder_complaint(folder), folder / "train: there is no such folder" + advice);
  folder.write("train/a.png", testing::png_of(3, 3));
  EXPECT_EQ(folder_complaint(folder), folder / "val: there is no such folder" + advice);
  folder.write("val/cat/a.png", testing::png_of(3, 3));
  EXPECT_EQ(folder_complaint(folder), folder / "train: there are no class folders in it" + advice);
}

TEST(ImageFolder, NamesAnEmptyClassAndOneThatTrainingDoesNotKnow) {
  const TemporaryFolder folder;
  write_photos(folder);
  folder.write("val/mouse/a.png", testing::png_of(3, 3));
  EXPECT_EQ(folder_complaint(folder), folder / "val/mouse: the training set has no such class");
  folder.write("train/mouse/a.gif", "");
  EXPECT_EQ(folder_complaint(folder),
            folder /
                "train/mouse: there are no JPEG or PNG files in this class, but 1 .gif; "
                "convert them");
  std::filesystem::remove(folder / "train/mouse/a.gif");
  EXPECT_EQ(folder_complaint(folder),
            folder / "train/mouse: there are no JPEG or PNG files in this class");
}

TEST(ImageFolder, CountsPicturesThatItCannotRead) {
  const TemporaryFolder folder;
  write_photos(folder);
  EXPECT_TRUE(open_folder(folder).notes.empty());
  folder.write("train/cat/c.webp", "");
  folder.write("train/cat/deep/d.WEBP", "");
  folder.write("train/Dog/e.bmp", "");
  folder.write("train/Dog/.f.bmp", "");
  folder.write("train/g.webp", "not in a class");
  folder.write("val/cat/h.gif", "");
  const std::string why = ": left out, since only JPEG and PNG are read: ";
  EXPECT_EQ(open_folder(folder, 1).notes,
            (std::vector{folder / "train" + why + "1 .bmp, 2 .webp; convert them to have them",
                         folder / "val" + why + "1 .gif; convert them to have them"}));
}

TEST(ImageFolder, GivesUpOnFoldersThatContainThemselves) {
  const TemporaryFolder folder;
  write_photos(folder);
  std::filesystem::create_directory_symlink(folder / "train/cat", folder / "train/cat/again");
  EXPECT_NE(folder_complaint(folder).find("too many folders in folders"), std::string::npos);
}

}  // namespace
}  // namespace impart::data

#include <filesystem>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "impart/core/error.h"
#include "impart/data/payloads/file_ranges.h"
#include "impart/data/payloads/memory_payloads.h"
#include "impart/data/payloads/open_files.h"
#include "tests/support/temporary_folder.h"

namespace impart::data {
namespace {

using testing::message_of;
using testing::TemporaryFolder;

std::string payload_of(const PayloadSource& source, std::uint64_t id) {
  std::string payload(source.payload_bytes(ExampleId{id}), '?');
  source.read(ExampleId{id}, std::as_writable_bytes(std::span(payload)));
  return payload;
}

/// 10 files of 40 bytes with 4 payloads each; payload p of file f is "fffp" + "......".
FileRangesSpec ten_files(const TemporaryFolder& folder) {
  FileRangesSpec spec{.files = FileNames(folder.path())};
  for (std::uint32_t file = 0; file < 10; ++file) {
    std::string content;
    for (std::uint32_t p = 0; p < 4; ++p) {
      spec.ranges.push_back({.offset = content.size(), .file = file, .bytes = 10});
      content += fmt::format("{:03}{}......", file, p);
    }
    const std::string name = fmt::format("part-{}", file);
    folder.write(name, content);
    spec.files.append(name);
  }
  return spec;
}

TEST(FileRanges, ReadEachPayloadFromItsPlace) {
  const TemporaryFolder folder;
  const auto source = make_file_range_source(ten_files(folder));
  ASSERT_EQ(source->examples(), 40u);
  for (std::uint64_t id = 40; id-- > 0;) {
    EXPECT_EQ(payload_of(*source, id), fmt::format("{:03}{}......", id / 4, id % 4));
  }
  std::vector<std::byte> payload(10);
  EXPECT_EQ(source->read(ExampleId{7}, payload), 10u);
  EXPECT_EQ(source->describe(ExampleId{7}), folder / "part-1, byte 30");
}

TEST(FileRanges, KeepNoMoreFilesOpenThanTheyMay) {
  const TemporaryFolder folder;
  const auto open_now = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  FileRangesSpec spec = ten_files(folder);
  spec.open_files = 3;
  const auto source = make_file_range_source(std::move(spec));
  const auto before = open_now();
  for (std::uint64_t id = 0; id < 40; ++id) payload_of(*source, id);
  EXPECT_EQ(open_now(), before + 3);
}

TEST(FileRanges, ServeSeveralThreadsFromFewFiles) {
  const TemporaryFolder folder;
  FileRangesSpec spec = ten_files(folder);
  spec.open_files = 2;
  const auto source = make_file_range_source(std::move(spec));
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t k = 0; k < 2000; ++k) {
        const std::uint64_t id = (k * 7 + t * 11) % 40;
        ASSERT_EQ(payload_of(*source, id), fmt::format("{:03}{}......", id / 4, id % 4));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(FileRanges, SayWhereAFileEndsTooEarly) {
  const TemporaryFolder folder;
  const auto source = make_file_range_source(ten_files(folder));
  folder.write("part-2", "0020......0021");
  EXPECT_EQ(message_of<DataError>([&] { payload_of(*source, 9); }),
            folder / "part-2: byte 14: the file has ended, 6 of 10 bytes are missing");
  EXPECT_EQ(payload_of(*source, 8), "0020......");
}

TEST(FileRanges, SayWhichFileCannotBeOpened) {
  const TemporaryFolder folder;
  const auto source = make_file_range_source(ten_files(folder));
  std::filesystem::remove(folder / "part-3");
  EXPECT_EQ(message_of<DataError>([&] { payload_of(*source, 12); }),
            folder / "part-3: cannot open: No such file or directory");
}

TEST(FileRanges, SayWhichFileMayNotBeRead) {
  if (::geteuid() == 0) GTEST_SKIP() << "nothing is forbidden to root";
  const TemporaryFolder folder;
  const auto source = make_file_range_source(ten_files(folder));
  std::filesystem::permissions(folder / "part-4", std::filesystem::perms::none);
  EXPECT_EQ(message_of<DataError>([&] { payload_of(*source, 16); }),
            folder / "part-4: cannot open: Permission denied");
}

TEST(FileRanges, RefuseExamplesAndLengthsThatCannotBe) {
  const TemporaryFolder folder;
  const auto source = make_file_range_source(ten_files(folder));
  EXPECT_THROW(source->payload_bytes(ExampleId{40}), Error);
  std::vector<std::byte> payload(9);
  EXPECT_THROW(source->read(ExampleId{0}, payload), Error);
}

TEST(OpenFiles, ForgetTheOneThatWasUsedLongestAgo) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a", "x");
  OpenFiles files(2);
  int opened = 0;
  const auto get = [&](std::uint32_t file) {
    files.get(file, [&] { return ++opened, path; });
    return opened;
  };
  EXPECT_EQ(get(1), 1);
  EXPECT_EQ(get(2), 2);
  EXPECT_EQ(get(1), 2);
  EXPECT_EQ(get(3), 3);  // forgets 2
  EXPECT_EQ(get(1), 3);
  EXPECT_EQ(get(2), 4);
  EXPECT_EQ(files.size(), 2u);
}

TEST(MemorySource, GivesTheImagesOfItsSet) {
  const auto set = std::make_shared<ImageSet>(ImageSet{.count = 2,
                                                       .channels = 1,
                                                       .height = 1,
                                                       .width = 3,
                                                       .pixels = {'a', 'b', 'c', 'd', 'e', 'f'}});
  const auto source = make_memory_source(set, "somewhere");
  EXPECT_EQ(source->examples(), 2u);
  EXPECT_EQ(payload_of(*source, 1), "def");
  std::vector<std::byte> payload(3);
  EXPECT_EQ(source->read(ExampleId{0}, payload), 0u);
  EXPECT_EQ(source->describe(ExampleId{1}), "somewhere, image 1");
  EXPECT_THROW(source->read(ExampleId{2}, payload), Error);
}

}  // namespace
}  // namespace impart::data

#include "impart/store/shelf.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <xxhash.h>

#include "impart/core/error.h"
#include "impart/store/shelf_journal.h"
#include "tests/store/generated_source.h"
#include "tests/support/temporary_folder.h"

namespace impart::store {
namespace {

using testing::GeneratedSource;
using testing::message_of;
using testing::TemporaryFolder;

void put(Shelf& shelf, const GeneratedSource& source, std::uint64_t i) {
  const auto payload = source.payload(ExampleId{i});
  shelf.put(ExampleId{i}, payload, XXH3_64bits(payload.data(), payload.size()));
}

void expect_right(Shelf& shelf, const GeneratedSource& source, std::uint64_t i) {
  std::vector<std::byte> payload;
  ASSERT_TRUE(shelf.read(ExampleId{i}, payload)) << i;
  EXPECT_EQ(payload, source.payload(ExampleId{i})) << i;
}

std::vector<std::uint64_t> sorted_ids(const Shelf& shelf) {
  std::vector<std::uint64_t> ids;
  for (const ExampleId id : shelf.held()) ids.push_back(index(id));
  std::sort(ids.begin(), ids.end());
  return ids;
}

/// A shelf in a folder of its own, of a data set of 100 examples.
class ShelfFolder : public ::testing::Test {
 protected:
  std::unique_ptr<Shelf> open(const std::string& data_id = "a") {
    return open_directory_shelf({folder_ / "shelf", data_id}, source_);
  }
  /// Writes examples 0..9 and ends without closing.
  void leave_ten() {
    const auto shelf = open();
    for (std::uint64_t i = 0; i < 10; ++i) put(*shelf, source_, i);
    shelf->sync();
  }
  std::string journal() const { return folder_ / "shelf/journal"; }
  std::string payloads() const { return folder_ / "shelf/payloads"; }
  void damage(const std::string& path, std::uint64_t offset) const {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const char was = static_cast<char>(file.get());
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(static_cast<char>(was ^ 1));
  }

  GeneratedSource source_{100, 300};
  TemporaryFolder folder_;
};

TEST_F(ShelfFolder, GivesBackWhatWasPut) {
  const GeneratedSource source(30, 200, true);
  std::vector<std::unique_ptr<Shelf>> shelves;
  shelves.push_back(make_memory_shelf());
  shelves.push_back(open_directory_shelf({folder_ / "varied", "a"}, source));
  for (const auto& shelf : shelves) {
    for (std::uint64_t i = 0; i < 30; ++i) put(*shelf, source, i);
    for (std::uint64_t i = 0; i < 30; i += 3) shelf->forget(ExampleId{i});
    EXPECT_EQ(shelf->examples(), 20u);
    std::vector<std::byte> payload;
    for (std::uint64_t i = 0; i < 30; ++i) {
      if (i % 3 == 0) {
        EXPECT_FALSE(shelf->read(ExampleId{i}, payload));
      } else {
        expect_right(*shelf, source, i);
      }
    }
    EXPECT_THROW(shelf->forget(ExampleId{0}), Error);
    EXPECT_THROW(shelf->copy(ExampleId{0}, payload), Error);
    EXPECT_THROW(put(*shelf, source, 1), Error);
  }
}

TEST_F(ShelfFolder, HoldsTheSameWhenOpenedAgain) {
  {
    const auto shelf = open();
    for (std::uint64_t i = 0; i < 10; ++i) put(*shelf, source_, i);
    shelf->forget(ExampleId{3});
    shelf->close();
  }
  const auto shelf = open();
  EXPECT_EQ(sorted_ids(*shelf), (std::vector<std::uint64_t>{0, 1, 2, 4, 5, 6, 7, 8, 9}));
  EXPECT_LT(shelf->bytes_read(), 1'000u) << "a closed shelf is not read through";
  expect_right(*shelf, source_, 9);
}

TEST_F(ShelfFolder, ReadsEverythingThroughAfterAnUncleanEnd) {
  leave_ten();
  const auto shelf = open();
  EXPECT_EQ(shelf->examples(), 10u);
  EXPECT_GE(shelf->bytes_read(), 3'000u);
}

TEST_F(ShelfFolder, DoesNotGrowBeyondTheMostItHeld) {
  const auto shelf = open();
  for (std::uint64_t i = 0; i < 20; ++i) put(*shelf, source_, i);
  for (std::uint64_t i = 0; i < 80; ++i) {
    shelf->forget(ExampleId{i});
    put(*shelf, source_, 20 + i);
  }
  shelf->sync();
  EXPECT_EQ(std::filesystem::file_size(payloads()), 20u * 300u);
}

TEST_F(ShelfFolder, CutsOffATornRecord) {
  leave_ten();
  const auto whole = std::filesystem::file_size(journal());
  for (const std::uint64_t bytes : {std::uint64_t{1}, ShelfJournal::kRecordBytes - 1}) {
    std::filesystem::resize_file(journal(), whole - bytes);  // zeros, if it is longer
    EXPECT_EQ(open()->examples(), 9u);
  }
  const auto shelf = open();
  put(*shelf, source_, 9);
  shelf->sync();
  expect_right(*shelf, source_, 9);
}

TEST_F(ShelfFolder, DoesNotBelieveWhatComesAfterADamagedRecord) {
  leave_ten();
  const auto whole = std::filesystem::file_size(journal());
  damage(journal(), whole - 3 * ShelfJournal::kRecordBytes + 9);
  EXPECT_EQ(sorted_ids(*open()), (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6}));
}

TEST_F(ShelfFolder, DoesNotHoldADamagedPayloadAfterAnUncleanEnd) {
  leave_ten();
  damage(payloads(), 4 * 300 + 17);
  EXPECT_EQ(sorted_ids(*open()), (std::vector<std::uint64_t>{0, 1, 2, 3, 5, 6, 7, 8, 9}));
}

TEST_F(ShelfFolder, NamesFileAndOffsetOfAPayloadThatIsDamagedMeanwhile) {
  {
    leave_ten();
    const auto shelf = open();
    shelf->close();
    damage(payloads(), 4 * 300 + 17);
    std::vector<std::byte> payload;
    EXPECT_EQ(message_of<DataError>([&] { shelf->read(ExampleId{4}, payload); }),
              payloads() + ": offset 1200: the 300 bytes of example 4 are damaged");
  }
  {
    const auto shelf = open();
    std::vector<std::byte> payload;
    EXPECT_THROW(shelf->read(ExampleId{4}, payload), DataError);
    shelf->close();  // it knows of the damage, so this is no end in order
  }
  EXPECT_EQ(open()->examples(), 9u);
}

TEST_F(ShelfFolder, HoldsNothingWithoutItsPayloads) {
  {
    leave_ten();
    open()->close();
  }
  std::filesystem::remove(payloads());
  EXPECT_EQ(open()->examples(), 0u);
}

TEST_F(ShelfFolder, RefusesAnotherDataSet) {
  leave_ten();
  const std::string message = message_of<ConfigError>([&] { open("b"); });
  EXPECT_EQ(message,
            journal() + ": holds examples of another data set: 'a' of 100, not 'b' of 100");
  EXPECT_THROW(open_directory_shelf({folder_ / "shelf", "a"}, GeneratedSource(99, 300)),
               ConfigError);
  EXPECT_EQ(open()->examples(), 10u) << "and leaves it as it was";
}

TEST_F(ShelfFolder, RefusesAFileThatIsNoJournal) {
  folder_.write("shelf/journal", "dear diary");
  EXPECT_THROW(open(), ConfigError);
  EXPECT_EQ(testing::read_text(journal()), "dear diary");
}

TEST_F(ShelfFolder, NamesADamagedHeader) {
  leave_ten();
  damage(journal(), 16);
  EXPECT_NE(message_of<DataError>([&] { open(); }).find("journal: offset 25"), std::string::npos);
}

TEST_F(ShelfFolder, IsUsedByOneAtATime) {
  const auto shelf = open();
  EXPECT_NE(message_of<ConfigError>([&] { open(); }).find("another process"), std::string::npos);
}

TEST_F(ShelfFolder, WritesALongJournalAnew) {
  const auto shelf = open();
  put(*shelf, source_, 7);
  for (int round = 0; round < 40'000; ++round) {
    put(*shelf, source_, 8);
    shelf->forget(ExampleId{8});
    if (round % 100 == 0) shelf->flush();
  }
  shelf->flush();
  EXPECT_LT(std::filesystem::file_size(journal()), 70'000 * ShelfJournal::kRecordBytes);
  EXPECT_GE(shelf->bytes_written(), 80'000 * ShelfJournal::kRecordBytes);
  expect_right(*shelf, source_, 7);
}

/// Lets files grow to so many bytes only, while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::uint64_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_F(ShelfFolder, LosesNothingWhenTheDiskIsFull) {
  {
    const auto shelf = open();
    const FileSizeLimit limit(10 * 300 + 100);
    for (std::uint64_t i = 0; i < 10; ++i) put(*shelf, source_, i);
    EXPECT_NE(message_of<IoError>([&] { put(*shelf, source_, 10); }).find(payloads()),
              std::string::npos);
    EXPECT_EQ(shelf->examples(), 10u);
    shelf->forget(ExampleId{5});
    put(*shelf, source_, 11);
    shelf->sync();
  }
  const auto shelf = open();
  EXPECT_EQ(sorted_ids(*shelf), (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 6, 7, 8, 9, 11}));
}

}  // namespace
}  // namespace impart::store

#include "impart/data/fetch/download.h"

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/data/fetch/part.h"
#include "tests/support/temporary_folder.h"

// What needs a server is in fault_test.py.

namespace impart::data {
namespace {

using namespace std::chrono_literals;
using testing::message_of;
using testing::read_text;
using testing::TemporaryFolder;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(BackOff, DoublesUpToALimitAndObeysTheServerUpToAnother) {
  EXPECT_EQ(back_off(1, 0s), 500ms);
  EXPECT_EQ(back_off(2, 0s), 1s);
  EXPECT_EQ(back_off(6, 0s), 16s);
  EXPECT_EQ(back_off(7, 0s), 30s);
  EXPECT_EQ(back_off(1000000, 0s), 30s);
  EXPECT_EQ(back_off(1, 7s), 7s);
  EXPECT_EQ(back_off(1, 24h), 2min);
}

TEST(PartFile, GoesOnWithItsBytesAndItsVersion) {
  const TemporaryFolder folder;
  const FileVersion version{.etag = "\"x\"", .last_modified = "Sat, 01 Jan 2000 00:00:00 GMT"};
  {
    PartFile part(folder / "part");
    part.restart(version);
    part.append(bytes_of("some"));
  }
  PartFile part(folder / "part");
  EXPECT_EQ(part.size(), 4u);
  EXPECT_EQ(part.version(), version);
  part.append(bytes_of("thing"));
  EXPECT_EQ(read_text(folder / "part"), "something");
  EXPECT_EQ(part.appended(), 5u);
  part.restart({});
  EXPECT_EQ(part.version(), FileVersion{});
  part.append(bytes_of("new"));
  EXPECT_EQ(read_text(folder / "part"), "new");
}

TEST(PartFile, LeavesNothingBehindWithoutAByte) {
  const TemporaryFolder folder;
  { PartFile(folder / "part").restart({.etag = "x", .last_modified = ""}); }
  EXPECT_EQ(folder.count_files(), 0u);
}

TEST(PartFile, AFullDiskIsAnIoError) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("/dev/full", folder / "part");
  PartFile part(folder / "part");
  EXPECT_EQ(message_of<IoError>([&] { part.append(bytes_of("some")); }),
            folder / "part" + ": cannot write: No space left on device");
}

TEST(Download, ALocalFileIsCopied) {
  const TemporaryFolder folder;
  const std::string source = folder.write("source", "some bytes");
  std::uint64_t shown = 0;
  const FetchHooks hooks{.phase = [&](const std::string&) {
    return [&](std::uint64_t done, std::uint64_t total) { shown = done == total ? done : 0; };
  }};
  const DownloadSpec spec{.url = "file://" + source, .part = folder / "part", .bytes = 10};
  EXPECT_EQ(download(spec, hooks), 10u);
  EXPECT_EQ(read_text(folder / "part"), "some bytes");
  EXPECT_EQ(shown, 10u);
}

TEST(Download, WrongSizesAndEmptyFilesAreDataErrors) {
  const TemporaryFolder folder;
  const std::string url = "file://" + folder.write("source", "some bytes");
  const auto download_as = [&](const std::string& from, std::uint64_t bytes) {
    download({.url = from, .part = folder / "part", .bytes = bytes}, {});
  };
  EXPECT_EQ(message_of<DataError>([&] { download_as(url, 9); }),
            url + ": has 10 bytes, but should have 9");
  EXPECT_NE(message_of<DataError>([&] { download_as(url + "-none", 0); }), "");
  const std::string empty = "file://" + folder.write("empty", "");
  EXPECT_EQ(message_of<DataError>([&] { download_as(empty, 0); }), empty + ": is empty");
  EXPECT_FALSE(std::filesystem::exists(folder / "part"));
}

TEST(Download, StopsWhenAskedTo) {
  const TemporaryFolder folder;
  const DownloadSpec spec{.url = "http://127.0.0.1:9/x", .part = folder / "part"};
  EXPECT_THROW(download(spec, {.stop_requested = [] { return true; }}), FetchStopped);
}

}  // namespace
}  // namespace impart::data

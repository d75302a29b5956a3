#include "impart/data/fetch/unpack.h"

#include <memory>

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/data/fetch/sums.h"
#include "tests/support/temporary_folder.h"

namespace impart::data {
namespace {

using testing::message_of;
using testing::read_text;
using testing::TemporaryFolder;

struct Member {
  std::string path;
  std::string content = "";
  unsigned type = AE_IFREG;
  std::string symlink = "";
  std::string hardlink = "";
};

constexpr FetchMember kWanted[] = {{"a.bin", 1000}, {"b.bin", 1000}, {"names.txt", 100, true}};
const std::vector<Member> kGood = {
    {"set", "", AE_IFDIR}, {"set/a.bin", "aaa"}, {"set/readme", "read"}, {"set/deep/b.bin", "b"}};

void write_member(archive* tar, const Member& member) {
  const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(),
                                                                            &archive_entry_free);
  archive_entry_set_pathname(entry.get(), member.path.c_str());
  archive_entry_set_filetype(entry.get(), member.type);
  archive_entry_set_perm(entry.get(), 0644);
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(member.content.size()));
  if (!member.symlink.empty()) archive_entry_set_symlink(entry.get(), member.symlink.c_str());
  if (!member.hardlink.empty()) archive_entry_set_hardlink(entry.get(), member.hardlink.c_str());
  ASSERT_EQ(archive_write_header(tar, entry.get()), ARCHIVE_OK) << archive_error_string(tar);
  archive_write_data(tar, member.content.data(), member.content.size());
}

class Unpack : public ::testing::Test {
 protected:
  std::string pack(const std::vector<Member>& members) {
    const std::string path = folder_ / "set.tar.gz";
    const std::unique_ptr<archive, decltype(&archive_write_free)> tar(archive_write_new(),
                                                                      &archive_write_free);
    archive_write_add_filter_gzip(tar.get());
    archive_write_set_format_pax_restricted(tar.get());
    EXPECT_EQ(archive_write_open_filename(tar.get(), path.c_str()), ARCHIVE_OK);
    for (const Member& member : members) write_member(tar.get(), member);
    archive_write_close(tar.get());
    return path;
  }
  std::vector<FetchedFile> take_out(const std::string& path, const FetchHooks& hooks = {}) {
    std::filesystem::create_directory(folder_ / "out");
    return unpack({.archive = path, .folder = folder_ / "out", .members = kWanted}, hooks);
  }
  std::string refusal(const std::vector<Member>& members) {
    return message_of<DataError>([&] { take_out(pack(members)); });
  }
  void expect_refused(Member bad, std::string_view why) {
    std::vector<Member> members = kGood;
    members.push_back(std::move(bad));
    const std::string message = refusal(members);
    EXPECT_NE(message.find(why), std::string::npos) << message << "\nbut should say: " << why;
    EXPECT_TRUE(message.starts_with(folder_ / "set.tar.gz: byte ")) << message;
  }

  TemporaryFolder folder_;
};

TEST_F(Unpack, TakesTheMembersWithoutTheirFoldersAndNothingElse) {
  const auto files = take_out(pack(kGood));
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0], (FetchedFile{"a.bin", 3, sha256_of_file(folder_ / "out/a.bin")}));
  EXPECT_EQ(files[1].name, "b.bin");
  EXPECT_EQ(read_text(folder_ / "out/a.bin"), "aaa");
  EXPECT_EQ(read_text(folder_ / "out/b.bin"), "b");
  const std::filesystem::directory_iterator out(folder_ / "out");
  EXPECT_EQ(std::distance(out, {}), 2);
}

TEST_F(Unpack, RefusesPathsThatLeadOut) {
  expect_refused({"/etc/names.txt", "x"}, "entry '/etc/names.txt': leads out of the folder");
  expect_refused({"set/../../names.txt", "x"}, "leads out of the folder");
  expect_refused({"..", "", AE_IFDIR}, "leads out of the folder");
}

TEST_F(Unpack, RefusesLinksAndDevices) {
  expect_refused({"set/names.txt", "", AE_IFLNK, "/etc/passwd"},
                 "entry 'set/names.txt': is a link");
  expect_refused({"set/other", "", AE_IFLNK, "a.bin"}, "is a link");
  expect_refused({"set/names.txt", "", AE_IFREG, "", "set/a.bin"}, "is a link");
  expect_refused({"set/names.txt", "", AE_IFIFO}, "neither a file nor a folder");
  expect_refused({"set/device", "", AE_IFCHR}, "neither a file nor a folder");
}

TEST_F(Unpack, RefusesWhatIsTooLarge) {
  expect_refused({"set/names.txt", std::string(101, 'x')}, "'set/names.txt': has over 100 bytes");
  expect_refused({"set/other", std::string(20 << 20, '\0')}, "would unpack to more than");
}

TEST_F(Unpack, RefusesAMemberThatIsThereTwiceOrMissing) {
  expect_refused({"other/a.bin", "again"}, "entry 'other/a.bin': a file of this name came before");
  EXPECT_NE(refusal({{"set/a.bin", "a"}}).find("there is no file b.bin"), std::string::npos);
}

TEST_F(Unpack, RefusesWhatIsNoArchive) {
  const std::string path = folder_.write("set.tar.gz", "<html>log in first</html>");
  EXPECT_NE(message_of<DataError>([&] { take_out(path); }), "");
}

TEST_F(Unpack, NoticesEveryTruncation) {
  const std::string path = pack({{"a.bin", std::string(900, 'a')}, {"b.bin", "b"}});
  const std::string whole = read_text(path);
  for (std::size_t size = 0; size + 30 < whole.size(); size += 7) {
    folder_.write("set.tar.gz", whole.substr(0, size));
    EXPECT_THROW(take_out(path), DataError) << size << " of " << whole.size();
  }
}

TEST_F(Unpack, RefusesDamageOfWhichTheLibrarySaysNothing) {
  // A gzip stream of nothing, without the sum at its end.
  const std::string_view content("\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0", 12);
  const std::string path = folder_.write("set.tar.gz", content);
  EXPECT_TRUE(message_of<DataError>([&] { take_out(path); }).ends_with(": it is damaged"));
}

TEST_F(Unpack, StopsWhenAskedTo) {
  EXPECT_THROW(take_out(pack(kGood), {.stop_requested = [] { return true; }}), FetchStopped);
}

}  // namespace
}  // namespace impart::data

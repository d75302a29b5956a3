#include "impart/data/fetch/sums.h"

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "tests/support/temporary_folder.h"

namespace impart::data {
namespace {

using testing::message_of;
using testing::TemporaryFolder;

// From FIPS 180-2, as `printf abc | sha256sum` gives it, too.
constexpr const char* kSumOfAbc =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* kSumOfNothing =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

TEST(Sums, AreThoseOfTheStandard) {
  const TemporaryFolder folder;
  EXPECT_EQ(sha256_of_file(folder.write("abc", "abc")), kSumOfAbc);
  EXPECT_EQ(sha256_of_file(folder.write("nothing", "")), kSumOfNothing);
}

TEST(Sums, OfALongFileAreThoseOfItsPieces) {
  const TemporaryFolder folder;
  const std::string text((std::size_t{9} << 20) + 17, 'x');
  std::uint64_t last = 0;
  const std::string sum = sha256_of_file(folder.write("long", text),
                                         [&](std::uint64_t done, std::uint64_t) { last = done; });
  EXPECT_EQ(last, text.size());
  Sha256 pieces;
  for (std::size_t at = 0; at < text.size(); at += 1000003) {
    pieces.add(std::as_bytes(
        std::span(text).subspan(at, std::min<std::size_t>(1000003, text.size() - at))));
  }
  EXPECT_EQ(pieces.finish(), sum);
}

TEST(Sums, AreReadAsSha256sumWritesThem) {
  const TemporaryFolder folder;
  std::string upper(kSumOfAbc);
  for (char& letter : upper) letter = static_cast<char>(std::toupper(letter));
  const auto sums = read_sums(folder.write(
      "sums", "# of a mirror\n\n" + upper + "  some/folder/a b.gz\r\n" + kSumOfNothing + " *c.gz"));
  EXPECT_EQ(sums,
            (std::map<std::string, std::string>{{"a b.gz", kSumOfAbc}, {"c.gz", kSumOfNothing}}));
}

TEST(Sums, BadLinesAreNamed) {
  const TemporaryFolder folder;
  const std::string good = std::string(kSumOfAbc) + "  a\n";
  for (const std::string& bad :
       {std::string("0123  short"), std::string(64, 'g') + "  name", std::string(64, '0') + " name",
        std::string(64, '0') + "  ", std::string(kSumOfNothing) + "  a"}) {
    const std::string path = folder.write("sums", good + bad + "\n");
    EXPECT_NE(message_of<DataError>([&] { read_sums(path); }).find("sums:2: "), std::string::npos)
        << bad;
  }
  EXPECT_NE(message_of<DataError>([&] { read_sums(folder / "none"); }), "");
}

}  // namespace
}  // namespace impart::data

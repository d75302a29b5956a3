#include "impart/core/column_file.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/core/npy.h"
#include "tests/support/temporary_folder.h"

namespace impart {
namespace {

using testing::message_of;
using testing::TemporaryFolder;

std::vector<double> read(const std::string& path) {
  const ScoresFile file(path);
  std::vector<double> values;
  for (std::uint64_t i = 0; i < file.scores().size(); ++i) {
    values.push_back(file.scores()[ExampleId{i}]);
  }
  return values;
}

/// What is wrong with a scores.csv of that content, without the folder's name.
std::string complaint(std::string_view content) {
  const TemporaryFolder folder;
  const std::string path = folder.write("scores.csv", content);
  const std::string message = message_of<DataError>([&] { read(path); });
  const std::size_t at = message.find("scores.csv");
  return at == std::string::npos ? message : message.substr(at);
}

TEST(CsvScores, AreReadInAnyOrder) {
  const TemporaryFolder folder;
  EXPECT_EQ(read(folder.write("a.csv", "id,importance\n2,0.5\n0,1e-3\n1,-7\n")),
            (std::vector{1e-3, -7.0, 0.5}));
}

TEST(CsvScores, MayHaveOtherColumnsQuotesBlanksAndWindowsLineEnds) {
  const TemporaryFolder folder;
  EXPECT_EQ(read(folder.write("a.csv",
                              "\xEF\xBB\xBF"
                              "name, \"importance\" ,id\r\nx, 2.5 ,1\r\ny,\"+1\",0\r\n\r\n")),
            (std::vector{1.0, 2.5}));
}

TEST(CsvScores, MayBeNaNOrInfinite) {
  const TemporaryFolder folder;
  const auto values = read(folder.write("a.csv", "id,importance\n0,nan\n1,inf\n2,-inf\n"));
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(values[1], std::numeric_limits<double>::infinity());
}

TEST(CsvScores, MayBeNone) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read(folder.write("a.csv", "id,importance\n")).empty());
}

TEST(CsvScores, NameFileAndLineOfWhatIsWrong) {
  EXPECT_EQ(complaint(""), "scores.csv:1: empty; expected a header 'id,importance'");
  EXPECT_EQ(complaint("id,score\n0,1\n"),
            "scores.csv:1: no column 'importance'; the header has: id, score");
  EXPECT_EQ(complaint("0,1\n1,2\n"), "scores.csv:1: no column 'id'; the header has: 0, 1");
  EXPECT_EQ(complaint("id,importance\n0,1\n1,2\n0,3\n"),
            "scores.csv:4: id 0 is a duplicate; it was on line 2 already");
  EXPECT_EQ(complaint("id,importance\n0,1\n3,2\n1,3\n"),
            "scores.csv:3: id 3 with only 3 rows: ids must be 0..2, and id 2 is missing");
  EXPECT_EQ(complaint("id,importance\n0,1\n1,easy\n"),
            "scores.csv:3: importance 'easy' is not a number");
  EXPECT_EQ(complaint("id,importance\n0,1\n1\n"), "scores.csv:3: importance '' is not a number");
  EXPECT_EQ(complaint("id,importance\n-1,1\n"),
            "scores.csv:2: id '-1' is not a whole number from 0");
  EXPECT_EQ(complaint("id,importance\n0.0,1\n"),
            "scores.csv:2: id '0.0' is not a whole number from 0");
}

TEST(CsvScores, KeepEveryBitWhenWrittenAndReadAgain) {
  const TemporaryFolder folder;
  const std::vector<double> values = {1.0 / 3, 5e-324, 1.7976931348623157e308, -0.1};
  write_scores(folder / "a.csv", "importance", values);
  EXPECT_EQ(read(folder / "a.csv"), values);
}

TEST(NpyScores, KeepTheirWidth) {
  const TemporaryFolder folder;
  const std::vector<float> floats = {1.5f, -2.25f, 0.1f};
  write_scores(folder / "f.npy", "importance", floats);
  EXPECT_EQ(parse_npy(InputFile(folder / "f.npy")).type, "f4");
  EXPECT_EQ(read(folder / "f.npy"), std::vector<double>(floats.begin(), floats.end()));
  const std::vector<double> doubles = {1.0 / 3};
  write_scores(folder / "d.npy", "importance", doubles);
  EXPECT_EQ(parse_npy(InputFile(folder / "d.npy")).type, "f8");
  EXPECT_EQ(read(folder / "d.npy"), doubles);
}

TEST(NpyScores, AreRefusedAtEveryTruncation) {
  const TemporaryFolder folder;
  write_scores(folder / "whole.npy", "importance", std::vector<float>(10, 1.0f));
  const std::string whole = testing::read_text(folder / "whole.npy");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string path = folder.write("cut.npy", std::string_view(whole).substr(0, length));
    EXPECT_THROW(read(path), DataError) << length;
  }
  EXPECT_THROW(read(folder.write("long.npy", whole + "x")), DataError);
}

TEST(NpyScores, AreRefusedWhenTheyAreNotAVectorOfFloats) {
  const TemporaryFolder folder;
  const std::string body(16, '\0');
  const std::uint64_t square[] = {2, 2};
  const std::uint64_t line[] = {4};
  EXPECT_NE(message_of<DataError>([&] {
              read(folder.write("a.npy", npy_header("f4", square) + body));
            }).find("expected a one-dimensional array, found 2 dimensions"),
            std::string::npos);
  EXPECT_NE(message_of<DataError>([&] {
              read(folder.write("a.npy", npy_header("i4", line) + body));
            }).find("expected float32 or float64, found type i4"),
            std::string::npos);
}

TEST(Integers, AreReadFromEveryWidth) {
  const TemporaryFolder folder;
  const std::uint64_t two[] = {2};
  using namespace std::string_literals;
  EXPECT_EQ(
      read_integers(
          folder.write("a.npy", npy_header("i8", two) + "\1\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0"s), "x"),
      (std::vector<std::uint32_t>{1, 7}));
  EXPECT_EQ(read_integers(folder.write("b.npy", npy_header("u1", two) + "\1\7"s), "x"),
            (std::vector<std::uint32_t>{1, 7}));
  EXPECT_NE(message_of<DataError>([&] {
              read_integers(folder.write("c.npy", npy_header("i1", two) + "\1\xFF"s), "x");
            }).find("element 1 is -1, not between 0"),
            std::string::npos);
  EXPECT_NE(message_of<DataError>([&] {
              read_integers(folder.write("d.csv", "id,x\n0,4294967296\n"), "x");
            }).find("d.csv:2: x '4294967296' is not a whole number from 0"),
            std::string::npos);
}

TEST(ColumnFiles, MustEndInAKnownExtension) {
  EXPECT_EQ(message_of<ConfigError>([] { check_column_path("scores.txt"); }),
            "scores.txt: the file name must end in .csv or .npy");
}

TEST(IntegerLines, AreOneNumberPerExample) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_integers(folder.write("labels.txt", "3\n0\r\n 7 \n\n"), "label"),
            (std::vector<std::uint32_t>{3, 0, 7}));
  EXPECT_TRUE(read_integers(folder.write("none.txt", ""), "label").empty());
}

TEST(IntegerLines, NameTheLineThatIsWrong) {
  const TemporaryFolder folder;
  const auto complaint_about = [&](std::string_view content) {
    const std::string path = folder.write("labels.txt", content);
    const std::string message = message_of<DataError>([&] { read_integers(path, "label"); });
    return message.substr(std::min(message.find("labels.txt"), message.size()));
  };
  EXPECT_EQ(complaint_about("1\ncat\n"), "labels.txt:2: label 'cat' is not a whole number from 0");
  EXPECT_EQ(complaint_about("1\n\n2\n"),
            "labels.txt:2: empty; line 3 would belong to another example");
}

TEST(PlaceOfExample, IsALineOrAnElement) {
  const TemporaryFolder folder;
  const std::string csv = folder.write("owners.csv", "worker,id\n0,2\n0,1\n1,0\n");
  EXPECT_EQ(place_of_example(csv, 1), csv + ":3");
  EXPECT_EQ(place_of_example("owners.npy", 1), "owners.npy: element 1");
  EXPECT_EQ(place_of_example("owners.txt", 1), "owners.txt:2");
}

}  // namespace
}  // namespace impart

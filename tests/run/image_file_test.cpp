#include "impart/run/image_file.h"

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "tests/support/temporary_folder.h"

namespace impart::run {
namespace {

using testing::message_of;
using testing::TemporaryFolder;

std::vector<ImageRecord> two_images() {
  return {{.id = 17,
           .class_number = 3,
           .label = "star",
           .prediction = "circle",
           .probability = 0.75,
           .worker = 2,
           .ranks = {{.notion = "margin", .rank = 1, .importance = 2.5},
                     {.notion = "margin", .in_class = true, .hardest = false, .rank = 4}},
           .hidden = HiddenRank{.most = false, .rank = 2, .times = 5},
           .png = std::string("\x89PNG\0\xff", 6)},
          {.id = 18, .label = "\xff", .prediction = "0"}};
}

TEST(ImageFile, IsReadAsItWasWritten) {
  const TemporaryFolder folder;
  write_images(folder / "images.jsonl", two_images());
  const auto found = read_images(folder / "images.jsonl");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].id, 17u);
  EXPECT_EQ(found[0].class_number, 3u);
  EXPECT_EQ(found[0].label, "star");
  EXPECT_EQ(found[0].prediction, "circle");
  EXPECT_EQ(found[0].probability, 0.75);
  EXPECT_EQ(found[0].worker, 2u);
  EXPECT_EQ(found[0].png, two_images()[0].png);
  ASSERT_EQ(found[0].ranks.size(), 2u);
  EXPECT_FALSE(found[0].ranks[0].in_class);
  EXPECT_TRUE(found[0].ranks[0].hardest);
  EXPECT_EQ(found[0].ranks[0].importance, 2.5);
  EXPECT_TRUE(found[0].ranks[1].in_class);
  EXPECT_FALSE(found[0].ranks[1].hardest);
  EXPECT_EQ(found[0].ranks[1].rank, 4u);
  ASSERT_TRUE(found[0].hidden);
  EXPECT_FALSE(found[0].hidden->most);
  EXPECT_EQ(found[0].hidden->rank, 2u);
  EXPECT_EQ(found[0].hidden->times, 5u);
  EXPECT_FALSE(found[1].hidden);
  EXPECT_EQ(found[1].label, "\xEF\xBF\xBD");
}

TEST(ImageFile, NamesTheLineThatIsNone) {
  const std::string lines = image_lines(two_images());
  const auto complaint = [&](const std::string& last) {
    return message_of<DataError>([&] { parse_image_lines(lines + last, "a/images.jsonl"); });
  };
  EXPECT_TRUE(complaint("{}\n").starts_with("a/images.jsonl:3: is no image of a run: "));
  EXPECT_EQ(complaint("{\n"), "a/images.jsonl:3: offset 2: is not JSON");
  std::string bent = lines.substr(0, lines.find('\n') + 1);
  bent.replace(bent.find("\"png\":\"") + 7, 1, "?");
  EXPECT_EQ(complaint(bent),
            "a/images.jsonl:3: is no image of a run: is not base64: it has other letters");
}

}  // namespace
}  // namespace impart::run

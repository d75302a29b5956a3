#include <fmt/format.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include "impart/core/error.h"
#include "tests/data/text/texts.h"
#include "tests/support/temporary_folder.h"

namespace impart::data {
namespace {

using testing::message_of;
using testing::random_prose;
using testing::read_text;
using testing::TemporaryFolder;
using testing::tokenizer_of;

TEST(TokenFile, GivesTheTokenizerBack) {
  const TemporaryFolder folder;
  const std::string text = random_prose(500, 1);
  for (const auto& row : kTokenizers) {
    for (const bool end_of_text : {false, true}) {
      const TokenizerPtr saved = tokenizer_of(row.name, text, 300, end_of_text);
      save_tokenizer(*saved, folder / "vocabulary.txt");
      const TokenizerPtr loaded = load_tokenizer(folder / "vocabulary.txt");
      EXPECT_EQ(loaded->kind(), row.name);
      EXPECT_EQ(loaded->vocabulary(), saved->vocabulary());
      EXPECT_EQ(loaded->end_of_text(), saved->end_of_text());
      EXPECT_EQ(loaded->encode(text), saved->encode(text));
    }
  }
}

TEST(TokenFile, RefusesEveryTruncation) {
  const TemporaryFolder folder;
  save_tokenizer(*tokenizer_of("bpe", random_prose(100, 1), 270), folder / "whole");
  const std::string whole = read_text(folder / "whole");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string path = folder.write("cut", whole.substr(0, size));
    const std::string message = message_of<DataError>([&] { load_tokenizer(path); });
    EXPECT_TRUE(message.starts_with(path + ":")) << size << " bytes: " << message;
  }
}

TEST(TokenFile, RefusesEveryDamagedByte) {
  const TemporaryFolder folder;
  save_tokenizer(*tokenizer_of("char", random_prose(100, 1)), folder / "whole");
  const std::string whole = read_text(folder / "whole");
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] ^= 1;
    const std::string path = folder.write("damaged", damaged);
    EXPECT_THROW(load_tokenizer(path), DataError) << "byte " << at;
  }
}

std::string with_checksum(const std::string& text) {
  return text + fmt::format("xxh3 {:016x}\n", XXH3_64bits(text.data(), text.size()));
}

TEST(TokenFile, SaysWhatIsWrongAndOnWhichLine) {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& text) {
    const std::string path = folder.write("v", with_checksum(text));
    const std::string message = message_of<DataError>([&] { load_tokenizer(path); });
    return message.substr(std::min(message.size(), path.size()));
  };
  const std::string start = "impart tokenizer 1\n";
  EXPECT_EQ(refusal("{}"), ":1: not a saved tokenizer");
  EXPECT_EQ(refusal("impart tokenizer 2\n"), ":1: format version '2'; this program reads 1");
  EXPECT_EQ(refusal(start + "sort bpe\n"), ":2: expected 'kind …'");
  EXPECT_EQ(refusal(start + "kind word\nend-of-text 0\nrows 0\n"), ":4: kind 'word' with 0 rows");
  EXPECT_EQ(refusal(start + "kind bpe\nend-of-text 2\nrows 0\n"), ":3: expected a number below 2");
  EXPECT_EQ(refusal(start + "kind bpe\nend-of-text 1\nrows 1\n"), ":4: the file ends too early");
  EXPECT_EQ(refusal(start + "kind bpe\nend-of-text 1\nrows 1\n97 98 99\n"),
            ":5: '99' left over on the line");
  EXPECT_EQ(refusal(start + "kind bpe\nend-of-text 1\nrows 1\n97 300\n"),
            ":5: token 256 is made of 97 and 300, which are not made before it");
  EXPECT_EQ(refusal(start + "kind char\nend-of-text 1\nrows 2\n98\n97\n"),
            ":6: character 97 after 98: not ascending");
  EXPECT_EQ(refusal(start + "kind char\nend-of-text 1\nrows 1\n55296\n"),
            ":5: 55296 is no character");
  EXPECT_EQ(refusal(start + "kind byte\nend-of-text 1\nrows 0\n97\n"), ":4: lines left over");
  EXPECT_THROW(load_tokenizer(folder / "none"), DataError);
}

}  // namespace
}  // namespace impart::data

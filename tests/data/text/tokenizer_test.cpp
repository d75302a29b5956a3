#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "tests/data/text/texts.h"
#include "tests/support/temporary_folder.h"

namespace impart::data {
namespace {

using testing::message_of;
using testing::random_bytes;
using testing::random_prose;
using testing::tokenizer_of;

TEST(Tokenizers, GiveTheirTextBack) {
  for (const auto& row : kTokenizers) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const std::string text = random_prose(seed * 20, seed);
      const TokenizerPtr tokenizer = tokenizer_of(row.name, text);
      EXPECT_EQ(tokenizer->kind(), row.name);
      const std::vector<Token> tokens = tokenizer->encode(text);
      EXPECT_EQ(tokenizer->decode(tokens), text) << row.name << ", seed " << seed;
      for (const Token token : tokens) ASSERT_LT(token, tokenizer->vocabulary());
    }
  }
}

TEST(Tokenizers, MakeEqualOnesOfTextsInAnyOrder) {
  const std::string one = random_prose(300, 1), two = random_prose(300, 2);
  const std::vector<CorpusText> there = {{.text = one, .place = {}}, {.text = two, .place = {}}};
  const std::vector<CorpusText> back = {there[1], there[0]};
  for (const auto& row : kTokenizers) {
    const TokenizerPtr first = row.function(there, {.vocabulary = 350});
    const TokenizerPtr second = row.function(back, {.vocabulary = 350});
    EXPECT_EQ(first->rows(), second->rows()) << row.name;
    EXPECT_EQ(first->vocabulary(), second->vocabulary()) << row.name;
  }
}

TEST(Tokenizers, OfBytesAndPairsTakeAnyBytes) {
  const TokenizerPtr bytes = tokenizer_of("byte", "");
  const TokenizerPtr pairs = tokenizer_of("bpe", random_prose(500, 3));
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const std::string text = random_bytes(seed * 37, seed);
    EXPECT_EQ(bytes->decode(bytes->encode(text)), text);
    EXPECT_EQ(pairs->decode(pairs->encode(text)), text);
  }
  EXPECT_EQ(bytes->vocabulary(), 256u);
  EXPECT_FALSE(bytes->end_of_text());
}

TEST(Tokenizers, HaveAnEndOfTextThatNoTextGives) {
  const std::string text = random_prose(200, 4);
  for (const auto& row : kTokenizers) {
    const TokenizerPtr tokenizer = tokenizer_of(row.name, text, 300, true);
    ASSERT_TRUE(tokenizer->end_of_text()) << row.name;
    EXPECT_EQ(*tokenizer->end_of_text(), tokenizer->vocabulary() - 1);
    EXPECT_EQ(tokenizer->piece(*tokenizer->end_of_text()), "");
    for (const Token token : tokenizer->encode(text)) EXPECT_NE(token, tokenizer->end_of_text());
  }
}

TEST(Tokenizers, RefuseToDecodeWhatTheyDoNotHave) {
  const TokenizerPtr tokenizer = tokenizer_of("char", "abc");
  const std::vector<Token> tokens = {0, 3};
  EXPECT_EQ(message_of<Error>([&] { tokenizer->decode(tokens); }), "token 3 of a vocabulary of 3");
}

TEST(CharTokenizer, NumbersCharactersByCodePoint) {
  const TokenizerPtr tokenizer = tokenizer_of("char",
                                              "b\xC3\xA9"
                                              "a\xF0\x9F\x98\x80"
                                              "b");  // bé a 😀
  EXPECT_EQ(tokenizer->vocabulary(), 4u);
  EXPECT_EQ(tokenizer->encode("ab\xC3\xA9\xF0\x9F\x98\x80"), (std::vector<Token>{0, 1, 2, 3}));
}

TEST(CharTokenizer, TellsWhereACharacterIsNotInItsVocabulary) {
  const TokenizerPtr tokenizer = tokenizer_of("char", "ab");
  EXPECT_EQ(message_of<DataError>(
                [&] { tokenizer->encode("ab\xE2\x82\xAC", {.path = "b.txt", .offset = 100}); }),
            "b.txt: byte 102: character U+20AC is not in the vocabulary");
}

TEST(CharTokenizer, TellsWhereTextIsNotUtf8) {
  constexpr std::string_view kWrong[] = {
      "\x80",              // a tail without a lead
      "\xC3",              // cut short
      "\xC3(",             // a lead without a tail
      "\xC0\xAF",          // overlong
      "\xE0\x80\xAF",      // overlong
      "\xED\xA0\x80",      // a surrogate
      "\xF4\x90\x80\x80",  // beyond U+10FFFF
      "\xFF",
  };
  for (const std::string_view wrong : kWrong) {
    const std::string text = "four" + std::string(wrong) + "x";
    const std::string message = message_of<DataError>([&] { tokenizer_of("char", text); });
    EXPECT_TRUE(message.starts_with("corpus: byte 4: not UTF-8")) << message;
  }
}

}  // namespace
}  // namespace impart::data

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/data/text/token_bpe.h"
#include "impart/data/text/token_words.h"
#include "tests/data/text/texts.h"
#include "tests/support/temporary_folder.h"

namespace impart::data {
namespace {

using testing::message_of;
using testing::random_bytes;
using testing::random_prose;
using testing::tokenizer_of;

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> found;
  Words words(text);
  std::string_view word;
  while (words.next(word)) found.emplace_back(word);
  return found;
}

TEST(Words, AreRunsOfLettersDigitsSignsOrSpace) {
  EXPECT_EQ(words_of("The cat's 2nd  hat,\n\n  wow! "),
            (std::vector<std::string>{"The", " cat", "'", "s", " 2", "nd", " ", " hat", ",",
                                      "\n\n ", " wow", "!", " "}));
  EXPECT_EQ(words_of("na\xC3\xAFve\tx \n y"),
            (std::vector<std::string>{"na\xC3\xAFve", "\t", "x", " \n", " y"}));
  EXPECT_EQ(words_of(""), std::vector<std::string>{});
}

TEST(Words, AreTheTextAndNeverTooLong) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    std::string text = random_bytes(500, seed) + std::string(200, 'x') + std::string(99, ' ') + "y";
    std::string joined;
    for (const std::string& word : words_of(text)) {
      EXPECT_LE(word.size(), kLongestWord);
      EXPECT_GE(word.size(), 1u);
      joined += word;
    }
    EXPECT_EQ(joined, text);
  }
}

std::vector<TokenPair> merges_of(std::string_view text, std::uint32_t merges) {
  WordCounts counts;
  count_words(text, counts);
  return learn_merges(counts, merges);
}

TEST(LearnMerges, MergesTheMostFrequentPairFirst) {
  // "ab" occurs 3 times, "bc" 2 times, then "abc" twice as ab + c.
  EXPECT_EQ(merges_of("abc\nabc\nab", 9), (std::vector<TokenPair>{{'a', 'b'}, {256, 'c'}}));
}

TEST(LearnMerges, TakesTheSmallestOfEquallyFrequentPairs) {
  EXPECT_EQ(merges_of("zy\nzy\nab\nab", 2), (std::vector<TokenPair>{{'a', 'b'}, {'z', 'y'}}));
  EXPECT_EQ(merges_of("ad\nad\nac\nac", 1), (std::vector<TokenPair>{{'a', 'c'}}));
}

TEST(LearnMerges, MergesRunsFromLeftToRight) {
  // aaaaa has (a, a) 4 times; as AA AA a it has (AA, AA) and (AA, a) once each, twice in all.
  EXPECT_EQ(merges_of("aaaaa\naaaaa", 9),
            (std::vector<TokenPair>{{'a', 'a'}, {256, 'a'}, {256, 257}}));
}

TEST(LearnMerges, StopsWhenNothingRepeats) {
  EXPECT_TRUE(merges_of("abcdefg", 100).empty());
  EXPECT_TRUE(merges_of("", 100).empty());
}

/// All merges in their order, each through the whole word: slow, and plain.
std::vector<Token> encode_plainly(std::string_view text, std::span<const TokenPair> merges) {
  std::vector<Token> all;
  for (const std::string& word : words_of(text)) {
    std::vector<Token> tokens;
    for (const char byte : word) tokens.push_back(static_cast<unsigned char>(byte));
    for (std::size_t k = 0; k < merges.size(); ++k) {
      for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
        if (tokens[i] != merges[k].left || tokens[i + 1] != merges[k].right) continue;
        tokens[i] = static_cast<Token>(256 + k);
        tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      }
    }
    all.insert(all.end(), tokens.begin(), tokens.end());
  }
  return all;
}

TEST(BpeTokenizer, CarriesOutMergesInTheOrderTheyWereLearned) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const std::string corpus = random_prose(400, seed);
    const std::vector<TokenPair> merges = merges_of(corpus, 150);
    const TokenizerPtr tokenizer = bpe_tokenizer(merges, true);
    for (const std::string& text :
         {corpus, random_prose(400, seed + 100), random_bytes(300, seed), std::string(300, 'a')}) {
      EXPECT_EQ(tokenizer->encode(text), encode_plainly(text, merges)) << "seed " << seed;
    }
  }
}

TEST(BpeTokenizer, MayNotGiveATokenForItsOwnBytes) {
  // Token 258 is "abc" as a + bc, but of the word abc the earlier merge makes ab + c.
  const std::vector<TokenPair> merges = {{'a', 'b'}, {'b', 'c'}, {'a', 257}};
  const TokenizerPtr tokenizer = bpe_tokenizer(merges, true);
  EXPECT_EQ(tokenizer->piece(258), "abc");
  EXPECT_EQ(tokenizer->encode("abc"), (std::vector<Token>{256, 'c'}));
}

TEST(BpeTokenizer, HasTheVocabularyAskedForIfTheTextGivesIt) {
  const std::string text = random_prose(2000, 5);
  EXPECT_EQ(tokenizer_of("bpe", text, 300)->vocabulary(), 300u);
  EXPECT_EQ(tokenizer_of("bpe", "nothing", 300)->vocabulary(), 257u);
  EXPECT_EQ(message_of<ConfigError>([&] { tokenizer_of("bpe", text, 256); }),
            "a vocabulary of 256 tokens for 'bpe': allowed are 257 to 65536");
}

TEST(BpeTokenizer, LearnsFromTheTrainingPartOnly) {
  const std::vector<CorpusText> corpus = {{.text = "abab", .place = {}},
                                          {.text = "xyxyxyxy", .place = {}, .train = false}};
  EXPECT_EQ(make_bpe_tokenizer(corpus, {})->rows(), std::vector<std::string>{"97 98"});
}

TEST(BpeTokenizer, RefusesMergesOfTokensThatAreNotMade) {
  const std::vector<TokenPair> early = {{'a', 256}}, twice = {{'a', 'b'}, {'a', 'b'}};
  EXPECT_THROW(bpe_tokenizer(early, true), ConfigError);
  EXPECT_THROW(bpe_tokenizer(twice, true), ConfigError);
}

}  // namespace
}  // namespace impart::data

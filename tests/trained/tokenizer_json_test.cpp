#include "impart/trained/tokenizer_json.h"

#include <codecvt>
#include <locale>
#include <regex>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/data/text/token_kinds.h"
#include "impart/data/text/token_words.h"

// tests/train/trained_test.py compares the tokens with those of Hugging Face's library where that
// is installed; here the parts of the file are compared with what they stand for.

namespace impart::trained {
namespace {

using data::TokenPair;
using Json = nlohmann::ordered_json;

std::wstring wide(const std::string& text) {
  std::wstring_convert<std::codecvt_utf8<wchar_t>> convert;
  return convert.from_bytes(text);
}

/// The character that stands for each byte, by the vocabulary of the byte tokenizer.
std::vector<std::wstring> byte_letters() {
  const Json json = tokenizer_json(*data::byte_tokenizer(false));
  std::vector<std::wstring> letters(256);
  for (const auto& [text, token] : json["model"]["vocab"].items()) {
    letters.at(token.get<std::size_t>()) = wide(text);
  }
  return letters;
}

TEST(TokenizerJson, WritesBytesAsGpt2Does) {
  const std::vector<std::wstring> letters = byte_letters();
  for (const std::wstring& letter : letters) EXPECT_EQ(letter.size(), 1u);
  EXPECT_EQ(letters['A'], L"A");
  EXPECT_EQ(letters[' '], L"\u0120");
  EXPECT_EQ(letters['\n'], L"\u010A");
  EXPECT_EQ(letters[0x7F], L"\u0121");
  EXPECT_EQ(letters[0xAD], L"\u0143");
  EXPECT_EQ(letters[0xFF], L"\u00FF");
}

std::vector<std::wstring> words_by_pattern(const std::wstring& text) {
  const TokenPair pair[] = {{'a', 'b'}};
  const Json json = tokenizer_json(*data::bpe_tokenizer(pair, false));
  const Json& steps = json["pre_tokenizer"]["pretokenizers"];
  EXPECT_EQ(steps[0]["type"], "ByteLevel");
  const std::wregex pattern(wide(steps[1]["pattern"]["Regex"].get<std::string>()));
  std::vector<std::wstring> words;
  for (std::wsregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) {
    words.push_back(it->str());
  }
  return words;
}

TEST(TokenizerJson, CutsWordsWhereWeDo) {
  const std::vector<std::wstring> letters = byte_letters();
  const std::string pieces[] = {" ",
                                "  ",
                                "\n",
                                "a",
                                "word",
                                "7",
                                "2026",
                                "!",
                                "--",
                                "\xC3\xA4",
                                "\xF0\x9F\x98\x80",
                                "\t",
                                std::string(70, 'x'),
                                std::string(65, ' '),
                                std::string(66, '9'),
                                "\x01"};
  RandomStream random({.seed = 1, .purpose = Purpose("test")});
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = 0; i < 12; ++i) text += pieces[random.below(std::size(pieces))];
    std::wstring shown;
    for (const char byte : text) shown += letters[static_cast<unsigned char>(byte)];
    std::vector<std::wstring> expected;
    data::Words words(text);
    for (std::string_view word; words.next(word);) {
      expected.emplace_back();
      for (const char byte : word) expected.back() += letters[static_cast<unsigned char>(byte)];
    }
    ASSERT_EQ(words_by_pattern(shown), expected) << text;
  }
}

TEST(TokenizerJson, HasTheMergesInTheirOrder) {
  const TokenPair pairs[] = {{'a', 'b'}, {' ', 256}, {256, 257}};
  const Json model = tokenizer_json(*data::bpe_tokenizer(pairs, true))["model"];
  EXPECT_EQ(model["merges"], Json({"a b", "\u0120 ab", "ab \u0120ab"}));
  EXPECT_EQ(model["vocab"]["ab\u0120ab"], 258);
  EXPECT_EQ(model["vocab"][kEndOfText], 259);
}

TEST(TokenizerJson, MarksTheEndOfATextWhereThereIsOne) {
  EXPECT_TRUE(tokenizer_json(*data::byte_tokenizer(false))["added_tokens"].empty());
  const Json added = tokenizer_json(*data::byte_tokenizer(true))["added_tokens"];
  EXPECT_EQ(added[0]["id"], 256);
  EXPECT_EQ(added[0]["special"], true);
}

TEST(TokenizerJson, HasCharactersAsTheyAre) {
  const std::uint32_t characters[] = {'\n', 'a', 0xE4, 0x1F600};
  const Json json = tokenizer_json(*data::char_tokenizer(characters, false));
  EXPECT_EQ(json["model"]["vocab"], Json({{"\n", 0}, {"a", 1}, {"ä", 2}, {"😀", 3}}));
  EXPECT_EQ(json["pre_tokenizer"], nullptr);
  EXPECT_EQ(json["decoder"]["type"], "Fuse");
}

TEST(TokenizerJson, RefusesTwoTokensOfOneText) {
  const TokenPair pairs[] = {{'a', 'b'}, {'b', 'c'}, {256, 'c'}, {'a', 257}};
  EXPECT_THROW(tokenizer_json(*data::bpe_tokenizer(pairs, false)), DataError);
}

}  // namespace
}  // namespace impart::trained

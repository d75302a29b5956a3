#include "impart/data/text/blocks.h"

#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "tests/data/text/texts.h"
#include "tests/support/temporary_folder.h"

namespace impart::data {
namespace {

using testing::message_of;
using testing::random_prose;
using testing::tokenizer_of;

using Starts = std::vector<std::uint64_t>;

TokenSet cut_text(std::string_view text, const BlockSpec& spec, const Tokenizer& tokenizer) {
  const TextDocument document{.text = text};
  return cut_documents({&document, 1}, {"a.txt"}, tokenizer, spec);
}

TEST(Blocks, FollowEachOtherSoThatEveryTokenIsATargetOnce) {
  const TokenizerPtr bytes = tokenizer_of("byte", "");
  const TokenSet set = cut_text("0123456789abcdef", {.length = 5}, *bytes);
  EXPECT_EQ(set.starts, (Starts{0, 5, 10}));
  EXPECT_EQ(set.lengths, (std::vector<std::uint32_t>{6, 6, 6}));
  EXPECT_EQ(set.counts.left_out, 0u);
  EXPECT_EQ(text_of(set, bytes.get(), ExampleId{1}), "56789a");
  EXPECT_EQ(describe_origin(set, ExampleId{1}), "a.txt, byte 5");
  EXPECT_EQ(set.origins[1].length, 6u);
  EXPECT_EQ(set.bytes[1], 5u);
  EXPECT_TRUE(set.is_corpus());
}

TEST(Blocks, OverlapOrLeaveGapsByTheirStride) {
  const TokenizerPtr bytes = tokenizer_of("byte", "");
  const TokenSet overlapping = cut_text("0123456789", {.length = 4, .stride = 2}, *bytes);
  EXPECT_EQ(overlapping.starts, (Starts{0, 2, 4}));
  EXPECT_EQ(overlapping.counts.left_out, 1u);
  const TokenSet apart = cut_text("0123456789", {.length = 2, .stride = 6}, *bytes);
  EXPECT_EQ(apart.starts, (Starts{0, 6}));
  EXPECT_EQ(apart.counts.left_out, 4u);
}

std::vector<TextDocument> three_documents() {
  return {{.text = "abcde", .file = 0, .line = 2, .offset = 10},
          {.text = "f", .file = 0, .line = 3, .offset = 20},
          {.text = "ghijkl", .file = 1, .line = 7, .offset = 30}};
}

TEST(Blocks, OfPackedDocumentsReachOverTheirEnds) {
  const TokenizerPtr tokenizer = tokenizer_of("byte", "", 0, true);
  const TokenSet set =
      cut_documents(three_documents(), {"a.tsv", "b.tsv"}, *tokenizer, {.length = 4});
  EXPECT_EQ(set.starts, (Starts{0, 4, 8}));
  EXPECT_EQ(text_of(set, tokenizer.get(), ExampleId{1}), "e<|endoftext|>f<|endoftext|>g");
  EXPECT_EQ(set.bytes[1], 2u);  // f and g
  EXPECT_EQ(describe_origin(set, ExampleId{1}), "a.tsv:2, byte 14");
  EXPECT_EQ(set.origins[1].length, 3u);
  EXPECT_EQ(describe_origin(set, ExampleId{2}), "b.tsv:7, byte 30");
  EXPECT_EQ(set.counts.documents, 3u);
  EXPECT_EQ(set.counts.tokens, 14u);
  EXPECT_EQ(set.counts.left_out, 1u);
}

TEST(Blocks, OfUnpackedDocumentsLieInOne) {
  const TokenizerPtr tokenizer = tokenizer_of("byte", "", 0, true);
  const TokenSet set = cut_documents(three_documents(), {"a.tsv", "b.tsv"}, *tokenizer,
                                     {.length = 4, .pack = false});
  EXPECT_EQ(text_of(set, tokenizer.get(), ExampleId{0}), "abcde");
  EXPECT_EQ(text_of(set, tokenizer.get(), ExampleId{1}), "ghijk");
  EXPECT_EQ(set.count(), 2u);
  EXPECT_EQ(set.counts.left_out, 2u);
  EXPECT_EQ(describe_origin(set, ExampleId{1}), "b.tsv:7, byte 30");
}

TEST(Blocks, KnowTheBytesOfTheirText) {
  const std::string text = random_prose(1000, 1);
  const TokenizerPtr tokenizer = tokenizer_of("bpe", text, 320);
  const TokenSet set = cut_text(text, {.length = 16, .stride = 11}, *tokenizer);
  ASSERT_GT(set.count(), 10u);
  for (std::uint64_t i = 0; i < set.count(); ++i) {
    const std::string shown = text_of(set, tokenizer.get(), ExampleId{i});
    EXPECT_EQ(shown, text.substr(set.origins[i].offset, set.origins[i].length));
    const std::size_t first = tokenizer->piece(set.example(ExampleId{i})[0]).size();
    EXPECT_EQ(set.bytes[i], shown.size() - first);
  }
}

TEST(Blocks, AreRefusedOfTooLittleText) {
  const TokenizerPtr bytes = tokenizer_of("byte", "");
  EXPECT_EQ(message_of<DataError>([&] { cut_text("01234", {.length = 5}, *bytes); }),
            "a.txt: 5 tokens are too few for a block of 6 tokens (length 5 and the one after it)");
  EXPECT_EQ(cut_text("012345", {.length = 5}, *bytes).count(), 1u);
  EXPECT_THROW(cut_text("012345", {.length = 0}, *bytes), ConfigError);
}

TEST(Blocks, OfTokensCountTokens) {
  const TokenSet set = cut_tokens({.tokens = {5, 6, 7, 8, 9}, .file = "a.bin", .first = 100}, 10,
                                  nullptr, {.length = 2});
  EXPECT_EQ(set.starts, (Starts{0, 2}));
  EXPECT_EQ(describe_origin(set, ExampleId{1}), "a.bin, token 102");
  EXPECT_EQ(text_of(set, nullptr, ExampleId{1}), "7 8 9");
  EXPECT_TRUE(set.bytes.empty());
}

TEST(KeepExamples, KeepsTheFirstBlocksAndSpreadsTexts) {
  TokenSet set{.length = 1, .tokens = std::vector<Token>(10)};
  set.starts.resize(10);
  std::iota(set.starts.begin(), set.starts.end(), 0);
  set.lengths.assign(10, 1);
  TokenSet texts = set;
  texts.classes = 2;
  texts.labels = {0, 0, 0, 0, 0, 1, 1, 1, 1, 1};
  keep_examples(set, 4);
  EXPECT_EQ(set.starts, (Starts{0, 1, 2, 3}));
  EXPECT_EQ(set.lengths.size(), 4u);
  keep_examples(texts, 4);
  EXPECT_EQ(texts.starts, (Starts{0, 2, 5, 7}));
  EXPECT_EQ(texts.labels, (std::vector<std::uint32_t>{0, 0, 1, 1}));
  keep_examples(texts, 0);
  EXPECT_EQ(texts.count(), 4u);
}

TEST(TokenSource, GivesTokensAsBytes) {
  const auto set = std::make_shared<const TokenSet>(cut_tokens(
      {.tokens = {1, 2, 0x1234, 4, 5}, .file = "a.bin"}, 0x2000, nullptr, {.length = 2}));
  const auto source = make_token_source(set);
  EXPECT_EQ(source->examples(), 2u);
  EXPECT_EQ(source->payload_bytes(ExampleId{0}), 6u);
  std::vector<std::byte> payload(6);
  EXPECT_EQ(source->read(ExampleId{0}, payload), 0u);
  const unsigned char expected[] = {1, 0, 2, 0, 0x34, 0x12};
  EXPECT_EQ(std::memcmp(payload.data(), expected, 6), 0);
  EXPECT_EQ(source->describe(ExampleId{1}), "a.bin, token 2");
  EXPECT_THROW(source->read(ExampleId{2}, payload), Error);
  EXPECT_THROW(source->read(ExampleId{0}, std::span(payload).first(4)), Error);
}

}  // namespace
}  // namespace impart::data

#include <cstring>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/data/datasets.h"
#include "tests/data/text/texts.h"
#include "tests/support/temporary_folder.h"

namespace impart::data {
namespace {

using testing::message_of;
using testing::TemporaryFolder;

std::string token_bytes(const std::vector<Token>& tokens) {
  return {reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(Token)};
}

std::string header(std::int32_t magic, std::int32_t version, std::int32_t count) {
  std::int32_t words[256] = {magic, version, count};
  return {reinterpret_cast<const char*>(words), sizeof words};
}

constexpr std::int32_t kMagic = 20240520;
const std::vector<Token> kTrain = {3, 1, 4, 1, 5, 9, 2, 6, 5}, kTest = {2, 7, 1, 8, 2};

TextSpec spec_of(const TemporaryFolder& folder) {
  return {.name = "tokens", .root = folder.path(), .blocks = {.length = 2}};
}

TEST(TokenFiles, OfNanoGptAreReadAsTheyAre) {
  const TemporaryFolder folder;
  folder.write("train.bin", token_bytes(kTrain));
  folder.write("val.bin", token_bytes(kTest));
  const TextData data = load_text(spec_of(folder));
  EXPECT_EQ(data.train.tokens, kTrain);
  EXPECT_EQ(data.test.tokens, kTest);
  EXPECT_EQ(data.train.vocabulary, 10u);
  EXPECT_EQ(data.test.vocabulary, 10u);
  EXPECT_EQ(data.tokenizer, nullptr);
  EXPECT_EQ(describe_origin(data.train, ExampleId{2}), folder / "train.bin" + ", token 4");
}

TEST(TokenFiles, OfLlmCAreKnownByTheirHeader) {
  const TemporaryFolder folder;
  folder.write("train.bin", header(kMagic, 1, 9) + token_bytes(kTrain));
  folder.write("val.bin", header(kMagic, 1, 5) + token_bytes(kTest));
  const TextData data = load_text(spec_of(folder));
  EXPECT_EQ(data.train.tokens, kTrain);
  EXPECT_EQ(data.test.tokens, kTest);
}

TEST(TokenFiles, AreCutWithoutATestFile) {
  const TemporaryFolder folder;
  TextSpec spec = spec_of(folder);
  spec.root = folder.write("all.bin", token_bytes(kTrain));
  spec.test_share = 0.4;
  const TextData data = load_text(spec);
  EXPECT_EQ(data.train.tokens, (std::vector<Token>{3, 1, 4, 1, 5}));
  EXPECT_EQ(data.test.tokens, (std::vector<Token>{9, 2, 6, 5}));
  EXPECT_EQ(describe_origin(data.test, ExampleId{0}), folder / "all.bin" + ", token 5");
}

TEST(TokenFiles, TakeTheVocabularyFromNanoGptsPickle) {
  const TemporaryFolder folder;
  folder.write("train.bin", token_bytes(kTrain));
  folder.write("val.bin", token_bytes(kTest));
  using namespace std::string_literals;
  // pickle.dumps({'vocab_size': 65}), of 1000 and of 70000, protocol 4; of 65, protocol 2
  folder.write("meta.pkl", "\x80\x04\x95\x14\0\0\0\0\0\0\0}\x94\x8c\nvocab_size\x94KAs."s);
  EXPECT_EQ(load_text(spec_of(folder)).train.vocabulary, 65u);
  folder.write("meta.pkl", "\x80\x04\x95\x15\0\0\0\0\0\0\0}\x94\x8c\nvocab_size\x94M\xe8\x03s."s);
  EXPECT_EQ(load_text(spec_of(folder)).train.vocabulary, 1000u);
  folder.write("meta.pkl", "\x80\x02}q\0X\n\0\0\0vocab_sizeq\x01KAs."s);
  EXPECT_EQ(load_text(spec_of(folder)).train.vocabulary, 65u);
  folder.write("meta.pkl",
               "\x80\x04\x95\x17\0\0\0\0\0\0\0}\x94\x8c\nvocab_size\x94Jp\x11\x01\0s."s);
  EXPECT_THROW(load_text(spec_of(folder)), ConfigError);
  folder.write("meta.pkl", "no pickle");
  EXPECT_EQ(message_of<DataError>([&] { load_text(spec_of(folder)); }),
            folder / "meta.pkl" + ": no vocab_size");
  folder.write("meta.pkl", "vocab_size");
  EXPECT_EQ(message_of<DataError>([&] { load_text(spec_of(folder)); }),
            folder / "meta.pkl" + ": byte 10: expected a number after vocab_size");
}

TEST(TokenFiles, AreShownWithASavedVocabulary) {
  const TemporaryFolder folder;
  folder.write("train.bin", token_bytes(kTrain));
  folder.write("val.bin", token_bytes(kTest));
  save_tokenizer(*testing::tokenizer_of("char", "abcdefghijk"), folder / "letters");
  TextSpec spec = spec_of(folder);
  spec.vocabulary_file = folder / "letters";
  const TextData data = load_text(spec);
  EXPECT_EQ(data.train.vocabulary, 11u);
  EXPECT_EQ(text_of(data.train, data.tokenizer.get(), ExampleId{0}), "dbe");
  EXPECT_EQ(describe_origin(data.train, ExampleId{1}), folder / "train.bin" + ", token 2");
  EXPECT_EQ(data.train.bytes[0], 2u);
  spec.vocabulary = 12;
  EXPECT_THROW(load_text(spec), ConfigError);
}

TEST(TokenFiles, AreRefusedWithPathAndOffset) {
  const TemporaryFolder folder;
  const std::string train = folder / "train.bin",
                    test = folder.write("val.bin", token_bytes(kTest));
  const auto refusal = [&](const std::string& bytes, std::uint32_t vocabulary = 0) {
    folder.write("train.bin", bytes);
    TextSpec spec = spec_of(folder);
    spec.vocabulary = vocabulary;
    return message_of<DataError>([&] { load_text(spec); });
  };
  EXPECT_EQ(refusal(token_bytes(kTrain) + "x"),
            train + ": byte 18: an odd number of bytes, but a token has 2");
  EXPECT_EQ(refusal(token_bytes(kTrain), 9), train + ": byte 10: token 9 of a vocabulary of 9");
  EXPECT_EQ(refusal(header(kMagic, 1, 9) + token_bytes(kTrain), 9),
            train + ": byte 1034: token 9 of a vocabulary of 9");
  EXPECT_EQ(refusal(token_bytes({1, 2, 3}), 8), test + ": byte 6: token 8 of a vocabulary of 8");
  EXPECT_EQ(refusal(""), train + ": no tokens");
  EXPECT_EQ(refusal(header(kMagic, 2, 9) + token_bytes(kTrain)),
            train + ": byte 4: version 2 of llm.c's format; version 1 is read");
  EXPECT_EQ(refusal(header(kMagic, 1, 10) + token_bytes(kTrain)),
            train + ": byte 8: the header tells of 10 tokens, 20 bytes, but 18 bytes follow");
  EXPECT_EQ(refusal(header(kMagic, 1, 9).substr(0, 500)),
            train + ": byte 500: ends inside llm.c's header of 1024 bytes");
  EXPECT_EQ(
      refusal(token_bytes({1, 2})),
      train + ": 2 tokens are too few for a block of 3 tokens (length 2 and the one after it)");
}

}  // namespace
}  // namespace impart::data

#include <filesystem>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/data/datasets.h"
#include "tests/data/text/texts.h"
#include "tests/support/temporary_folder.h"

namespace impart::data {
namespace {

using testing::message_of;
using testing::random_prose;
using testing::TemporaryFolder;

std::string all_text(const TextData& data, const TokenSet& set) {
  return data.tokenizer->decode(set.tokens);
}

TEST(TextFiles, CutTheLastPartOffForTesting) {
  const TemporaryFolder folder;
  const std::string text = random_prose(400, 1);
  folder.write("input.txt", text);
  for (const std::string& root : {folder / "input.txt", folder.path()}) {
    const TextData data = load_text({.name = "text", .root = root, .blocks = {.length = 8}});
    EXPECT_EQ(all_text(data, data.train) + all_text(data, data.test), text);
    EXPECT_NEAR(static_cast<double>(data.test.tokens.size()),
                0.1 * static_cast<double>(text.size()), 3);
    EXPECT_EQ(data.test.origins[0].offset, data.train.tokens.size());
    EXPECT_EQ(data.train.vocabulary, 256u);
  }
}

TEST(TextFiles, AreNeverCutInsideACharacter) {
  const TemporaryFolder folder;
  for (int size = 20; size < 30; ++size) {
    std::string text;
    for (int k = 0; k < size; ++k) text += "\xE2\x82\xAC";
    const std::string path = folder.write("euro.txt", text);
    const TextData data = load_text({.name = "text",
                                     .root = path,
                                     .test_share = 0.15,
                                     .tokenizer = "char",
                                     .blocks = {.length = 1}});
    EXPECT_EQ(all_text(data, data.train) + all_text(data, data.test), text);
  }
}

TEST(TextFiles, TakeAFileForTestingIfThereIsOne) {
  const TemporaryFolder folder;
  folder.write("train.txt", "to be trained on");
  folder.write("valid.txt", "to be tested on");
  folder.write("other.txt", "another file for it");
  const TextData data = load_text({.name = "text", .root = folder.path(), .blocks = {.length = 4}});
  EXPECT_EQ(all_text(data, data.train), "to be trained on");
  EXPECT_EQ(all_text(data, data.test), "to be tested on");
  const TextData named = load_text({.name = "text",
                                    .root = folder.path(),
                                    .train_file = "valid.txt",
                                    .test_file = "other.txt",
                                    .blocks = {.length = 4}});
  EXPECT_EQ(all_text(named, named.train), "to be tested on");
  EXPECT_EQ(all_text(named, named.test), "another file for it");
}

TEST(TextFiles, InAFolderAreDocumentsInTheOrderOfTheirNames) {
  const TemporaryFolder folder;
  folder.write("b.txt", std::string(100, 'b'));
  folder.write("a/deep.txt", std::string(100, 'a'));
  folder.write("c.txt", std::string(100, 'c'));
  folder.write("c.md", "no text of this data set");
  const TextData data = load_text(
      {.name = "text", .root = folder.path(), .test_share = 0.5, .blocks = {.length = 9}});
  EXPECT_EQ(data.train.vocabulary, 257u);
  EXPECT_EQ(all_text(data, data.train), std::string(100, 'a') + std::string(50, 'b'));
  EXPECT_EQ(all_text(data, data.test), std::string(50, 'b') + std::string(100, 'c'));
  EXPECT_EQ(describe_origin(data.test, ExampleId{0}), folder / "b.txt" + ", byte 50");
  EXPECT_EQ(describe_origin(data.test, ExampleId{6}), folder / "c.txt" + ", byte 3");
}

TEST(TextFiles, TakeASavedVocabulary) {
  const TemporaryFolder folder;
  const std::string text = random_prose(400, 1);
  folder.write("input.txt", text);
  const TextSpec spec{
      .name = "text", .root = folder / "input.txt", .tokenizer = "bpe", .vocabulary = 300};
  const TextData made = load_text(spec);
  EXPECT_EQ(made.train.vocabulary, 300u);
  save_tokenizer(*made.tokenizer, folder / "saved");
  TextSpec again = spec;
  again.vocabulary_file = folder / "saved";
  EXPECT_EQ(load_text(again).train.tokens, made.train.tokens);

  folder.write("more.txt", "A text with a capital letter, and more of it: enough for blocks. ");
  save_tokenizer(*testing::tokenizer_of("char", text), folder / "letters");
  again.root = folder / "more.txt";
  again.blocks.length = 2;
  again.vocabulary_file = folder / "letters";
  EXPECT_EQ(message_of<DataError>([&] { load_text(again); }),
            folder / "more.txt" + ": byte 0: character U+0041 is not in the vocabulary");
}

TEST(TextFiles, AreRefusedWithTheirNames) {
  const TemporaryFolder folder;
  const auto refusal = [&](TextSpec spec) {
    spec.name = "text";
    return message_of<DataError>([&] { load_text(spec); });
  };
  const std::string empty = folder.write("empty/empty.txt", "");
  EXPECT_EQ(refusal({.root = empty}), empty + ": empty");
  const std::string tiny = folder.write("tiny.txt", "x");
  EXPECT_EQ(
      refusal({.root = tiny}),
      tiny + ": 1 tokens are too few for a block of 65 tokens (length 64 and the one after it)");
  EXPECT_EQ(refusal({.root = folder / "none"}),
            folder / "none" + ": there is no such file or folder");
  EXPECT_EQ(refusal({.root = folder.path(), .train_file = "none.txt"}),
            folder / "none.txt" + ": there is no such file");
  EXPECT_EQ(refusal({.root = tiny, .test_file = "none.txt"}),
            folder / "none.txt" + ": there is no such file");
  std::filesystem::create_directory(folder / "bare");
  EXPECT_EQ(refusal({.root = folder / "bare"}), folder / "bare" + ": there is no *.txt");
  const std::string text = folder.write("short.txt", std::string(100, 'x'));
  EXPECT_EQ(
      refusal({.root = text, .blocks = {.length = 20}}),
      text + ": 10 tokens are too few for a block of 21 tokens (length 20 and the one after it)");
  const std::string broken =
      folder.write("broken.txt", std::string(150, 'x') + "\xC3(" + std::string(99, 'x'));
  EXPECT_TRUE(
      refusal({.root = broken, .tokenizer = "char"}).starts_with(broken + ": byte 150: not UTF-8"));
}

TEST(TextFiles, ReportWrongWishes) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.txt", std::string(1000, 'x'));
  const auto refusal = [&](const TextSpec& spec) {
    return message_of<ConfigError>([&] { load_text(spec); });
  };
  EXPECT_EQ(refusal({.name = "txt", .root = path}), "unknown data set 'txt', did you mean 'text'?");
  EXPECT_EQ(refusal({.name = "text"}), "data set 'text' needs a file or folder: data.root=PATH");
  EXPECT_EQ(refusal({.name = "text", .root = path, .test_share = 1}),
            "a test share of 1: it must lie between 0 and 1");
  EXPECT_EQ(refusal({.name = "text", .root = path, .tokenizer = "bytes"}),
            "unknown tokenizer 'bytes', did you mean 'byte'?");
}

TEST(TextFiles, MayHoldAnyBytes) {
  const TemporaryFolder folder;
  const std::string text = std::string(50, '\0') + testing::random_bytes(4000, 3);
  const std::string path = folder.write("noise.txt", text);
  for (const std::string name : {"byte", "bpe"}) {
    const TextData data = load_text({.name = "text", .root = path, .tokenizer = name});
    EXPECT_EQ(all_text(data, data.train) + all_text(data, data.test), text) << name;
  }
}

}  // namespace
}  // namespace impart::data

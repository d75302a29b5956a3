#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include <gtest/gtest.h>

#include "impart/data/datasets.h"
#include "tests/support/temporary_folder.h"

// Against published texts, where IMPART_DATA names a folder that holds them.

namespace impart::data {
namespace {

std::optional<std::string> find_real(const std::string& name) {
  const char* folder = std::getenv("IMPART_DATA");
  if (folder == nullptr) return std::nullopt;
  const std::filesystem::path root = std::filesystem::path(folder) / name;
  return std::filesystem::exists(root) ? std::optional(root.string()) : std::nullopt;
}

TEST(RealText, TinyShakespeareHas65Characters) {
  const auto root = find_real("tinyshakespeare");
  if (!root) GTEST_SKIP() << "IMPART_DATA names no folder with tinyshakespeare";
  const TextData data =
      load_text({.name = "text", .root = *root, .tokenizer = "char", .blocks = {.length = 256}});
  EXPECT_EQ(data.train.vocabulary, 65u);
  EXPECT_EQ(data.train.tokens.size(), 1003854u);  // as nanoGPT cuts it
  EXPECT_EQ(data.test.tokens.size(), 111540u);
  EXPECT_EQ(data.train.count(), 3921u);
  EXPECT_TRUE(
      text_of(data.train, data.tokenizer.get(), ExampleId{0}).starts_with("First Citizen:\n"));
}

TEST(RealText, Sst2HasTwoClasses) {
  const auto root = find_real("sst2");
  if (!root) GTEST_SKIP() << "IMPART_DATA names no folder with sst2";
  const TextData data = load_text({.name = "table", .root = *root, .tokenizer = "bpe"});
  EXPECT_EQ(data.train.count(), 67349u);
  EXPECT_EQ(data.test.count(), 872u);
  EXPECT_EQ(data.train.classes, 2u);
  EXPECT_EQ(std::count(data.test.labels.begin(), data.test.labels.end(), 1u), 444);
  EXPECT_EQ(data.train.vocabulary, 8192u);
  EXPECT_EQ(text_of(data.test, data.tokenizer.get(), ExampleId{0}), "one long string of cliches .");
}

TEST(RealText, ImdbIsACorpusToo) {
  const auto root = find_real("imdb");
  if (!root) GTEST_SKIP() << "IMPART_DATA names no folder with imdb";
  const TextData data =
      load_text({.name = "table", .root = *root, .tokenizer = "bpe", .label_column = ""});
  EXPECT_EQ(data.train.counts.documents, 22500u);
  EXPECT_EQ(data.test.counts.documents, 2500u);
  std::uint64_t bytes = 0;
  for (const std::uint64_t block : data.train.bytes) bytes += block;
  const double per_token =
      static_cast<double>(bytes) / static_cast<double>(data.train.count() * data.train.length);
  EXPECT_GT(per_token, 3.5);
  const std::string file = testing::read_text(data.train.files[0]);
  for (const std::uint64_t i : {std::uint64_t{0}, data.train.count() - 1}) {
    const TextOrigin& origin = data.train.origins[i];
    const std::string shown = text_of(data.train, data.tokenizer.get(), ExampleId{i});
    const std::string first = shown.substr(0, shown.find("<|endoftext|>"));
    EXPECT_EQ(file.substr(origin.offset, first.size()), first);
  }
}

}  // namespace
}  // namespace impart::data

#include "impart/data/text/generated.h"

#include <array>
#include <cmath>
#include <map>

#include <gtest/gtest.h>
#include <xxhash.h>

#include "impart/core/error.h"
#include "impart/data/datasets.h"

namespace impart::data {
namespace {

TextData make(std::uint64_t examples, std::uint64_t seed = 1, std::uint32_t length = 64) {
  return load_text({.name = "generated",
                    .blocks = {.length = length},
                    .seed = seed,
                    .train_examples = examples,
                    .test_examples = 50});
}

TEST(GeneratedText, DependsOnNothingButSeedAndNumber) {
  const TextData few = make(100), many = make(300), other = make(100, 2);
  EXPECT_TRUE(
      std::equal(few.train.tokens.begin(), few.train.tokens.end(), many.train.tokens.begin()));
  EXPECT_NE(few.train.tokens, other.train.tokens);
  std::vector<Token> block(65);
  const GeneratedFacts facts = write_generated_block(1, Split::test, 7, block);
  const auto test = few.test.example(ExampleId{7});
  EXPECT_TRUE(std::equal(block.begin(), block.end(), test.begin(), test.end()));
  EXPECT_EQ(facts.difficulty, few.test.truth[7]);
}

TEST(GeneratedText, IsTheSameOnEveryMachine) {
  const TextData data = make(1000);
  EXPECT_EQ(XXH3_64bits(data.train.tokens.data(), 2 * data.train.tokens.size()),
            4359537669420805016u);
  EXPECT_EQ(XXH3_64bits(data.train.truth.data(), 4 * data.train.truth.size()),
            11472988237890694753u);
}

TEST(GeneratedText, HasWhatASetNeeds) {
  const TextData data = make(200, 1, 31);
  EXPECT_EQ(data.train.count(), 200u);
  EXPECT_EQ(data.train.length, 31u);
  EXPECT_EQ(data.train.vocabulary, 32u);
  EXPECT_EQ(data.tokenizer->vocabulary(), 32u);
  EXPECT_EQ(data.train.truth.size(), 200u);
  for (const Token token : data.train.tokens) ASSERT_LT(token, 32u);
  const std::string text = text_of(data.train, data.tokenizer.get(), ExampleId{3});
  EXPECT_EQ(data.tokenizer->encode(text).size(), 32u);
  EXPECT_EQ(data.train.bytes[3], 31u);
  const TextData limited = load_text({.limit = 10, .train_examples = 20});
  EXPECT_EQ(limited.train.count(), 10u);
  EXPECT_EQ(limited.train.truth.size(), 10u);
  EXPECT_THROW(load_text({.train_examples = 0}), ConfigError);
}

/// Bits of a next token for one who knows the token before it, as counted.
double conditional_entropy(const std::array<std::array<double, 32>, 32>& counts) {
  double bits = 0, total = 0;
  for (const auto& row : counts) {
    double sum = 0;
    for (const double count : row) sum += count;
    for (const double count : row) bits -= count > 0 ? count * std::log2(count / sum) : 0;
    total += sum;
  }
  return bits / total;
}

TEST(GeneratedText, IsAsHardAsItsTruthSays) {
  const TextData data = make(6000);
  // By truth: shuffled blocks, the hardest, come last. Each level is one source, so that counts of
  // pairs show its entropy.
  std::map<float, std::array<std::array<double, 32>, 32>> counts;
  std::map<float, std::array<double, 32>> letters;
  for (std::uint64_t i = 0; i < data.train.count(); ++i) {
    const auto tokens = data.train.example(ExampleId{i});
    for (std::size_t k = 0; k + 1 < tokens.size(); ++k) {
      ++counts[data.train.truth[i]][tokens[k]][tokens[k + 1]];
      ++letters[data.train.truth[i]][tokens[k]];
    }
  }
  ASSERT_EQ(counts.size(), kGeneratedSources + 1);
  EXPECT_EQ(counts.rbegin()->first, 1.0f);
  double before = 0;
  for (const auto& [truth, pairs] : counts) {
    const double entropy = conditional_entropy(pairs);
    EXPECT_GT(entropy, before + 0.25) << "truth " << truth;
    EXPECT_NEAR(entropy, 5 * truth, 0.1);
    before = entropy;
    double sum = 0;
    for (const double count : letters[truth]) sum += count;
    for (const double count : letters[truth]) EXPECT_NEAR(count * 32 / sum, 1, 0.15);
  }
}

TEST(GeneratedText, ShufflesAShareOfBlocks) {
  const TextData data = make(6000);
  const auto shuffled = std::count(data.train.truth.begin(), data.train.truth.end(), 1.0f);
  EXPECT_NEAR(static_cast<double>(shuffled) / 6000, kShuffledShare, 0.01);
}

}  // namespace
}  // namespace impart::data

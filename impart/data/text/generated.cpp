#include "impart/data/text/generated.h"

#include <array>
#include <numeric>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/data/text/source.h"
#include "impart/data/text/token_kinds.h"

namespace impart::data {
namespace {

constexpr std::uint32_t kLetters = 32;
constexpr double kHighestEntropy = 5;  // bits: log2(kLetters)

/// The probability of one more step, by source: so that entropies are about half a bit apart.
constexpr std::array<double, kGeneratedSources> kMoreSteps = {0.06, 0.15, 0.26, 0.38,
                                                              0.50, 0.61, 0.70, 0.78};

using Ring = std::array<Token, kLetters>;

/// The order of letters that a source goes by.
Ring draw_ring(std::uint64_t seed, std::uint32_t source) {
  RandomStream random({.seed = seed, .purpose = Purpose("text-ring"), .worker = WorkerId{source}});
  Ring ring;
  std::iota(ring.begin(), ring.end(), Token{0});
  shuffle(std::span<Token>(ring), random);
  return ring;
}

std::array<Ring, kGeneratedSources> draw_rings(std::uint64_t seed) {
  std::array<Ring, kGeneratedSources> rings;
  for (std::uint32_t source = 0; source < kGeneratedSources; ++source) {
    rings[source] = draw_ring(seed, source);
  }
  return rings;
}

/// The stream of one block: its index takes the place of the worker, and of the epoch for what does
/// not fit.
RandomStream block_stream(std::uint64_t seed, Split split, std::uint64_t index) {
  return RandomStream({.seed = seed,
                       .purpose = Purpose(split == Split::train ? "text-train" : "text-test"),
                       .epoch = static_cast<std::uint32_t>(index >> 32),
                       .worker = WorkerId{static_cast<std::uint32_t>(index)}});
}

GeneratedFacts fill_block(RandomStream& random, const std::array<Ring, kGeneratedSources>& rings,
                          std::span<Token> tokens) {
  GeneratedFacts facts;
  facts.source = static_cast<std::uint32_t>(random.below(kGeneratedSources));
  facts.shuffled = random.uniform() < kShuffledShare;
  facts.difficulty =
      facts.shuffled ? 1.0f : static_cast<float>(source_entropy(facts.source) / kHighestEntropy);
  auto place = static_cast<std::uint32_t>(random.below(kLetters));
  for (Token& token : tokens) {
    token = rings[facts.source][place % kLetters];
    ++place;
    while (random.uniform() < kMoreSteps[facts.source]) ++place;
  }
  if (facts.shuffled) shuffle(tokens, random);
  return facts;
}

TokenSet make_split(const TextSpec& spec, Split split, std::uint64_t count) {
  const std::uint64_t block = std::uint64_t{spec.blocks.length} + 1;
  const auto rings = draw_rings(spec.seed);
  TokenSet set{.vocabulary = kLetters, .length = spec.blocks.length};
  set.files.push_back(split == Split::train ? "generated, training part" : "generated, test part");
  set.tokens.resize(count * block);
  set.lengths.assign(count, spec.blocks.length + 1);
  set.bytes.assign(count, spec.blocks.length);
  set.counts = {.documents = count, .tokens = count * block};
  for (std::uint64_t i = 0; i < count; ++i) {
    RandomStream random = block_stream(spec.seed, split, i);
    const auto tokens = std::span(set.tokens).subspan(i * block, block);
    set.truth.push_back(fill_block(random, rings, tokens).difficulty);
    set.starts.push_back(i * block);
    set.origins.push_back({.offset = i * block, .length = block});
  }
  return set;
}

TokenizerPtr letter_tokenizer() {
  std::vector<std::uint32_t> letters;
  for (const char letter : kGeneratedLetters) letters.push_back(static_cast<unsigned char>(letter));
  return char_tokenizer(letters, false);
}

}  // namespace

double source_entropy(std::uint32_t source) {
  // Steps 1 to 32 around the ring; more than that come to the same letters again.
  const double more = kMoreSteps[source];
  double around = 1;
  for (std::uint32_t k = 0; k < kLetters; ++k) around *= more;
  double probability = (1 - more) / (1 - around), entropy = 0;
  for (std::uint32_t k = 0; k < kLetters; ++k, probability *= more) {
    entropy -= probability * portable_log(probability);
  }
  return entropy / portable_log(2);
}

GeneratedFacts write_generated_block(std::uint64_t seed, Split split, std::uint64_t index,
                                     std::span<Token> tokens) {
  RandomStream random = block_stream(seed, split, index);
  return fill_block(random, draw_rings(seed), tokens);
}

TextData make_generated_text(const TextSpec& spec) {
  check_blocks(spec.blocks);
  if (spec.train_examples == 0 || spec.test_examples == 0) {
    throw ConfigError("the generated corpus needs at least one example for training and testing");
  }
  TextData data{.train = make_split(spec, Split::train, spec.train_examples),
                .test = make_split(spec, Split::test, spec.test_examples),
                .tokenizer = letter_tokenizer()};
  keep_examples(data.train, spec.limit);
  return data;
}

}  // namespace impart::data

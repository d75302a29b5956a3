#pragma once

// Small sets of random tokens.

#include <cstdint>
#include <utility>
#include <vector>

#include "impart/core/random.h"
#include "impart/data/text/token_set.h"

namespace impart::testing {

inline constexpr std::uint32_t kVocabulary = 11, kLength = 6;

/// Tokens below kVocabulary, the same in every run.
inline std::vector<data::Token> random_tokens(std::size_t count, std::uint64_t seed = 5) {
  RandomStream stream({.seed = seed, .purpose = Purpose("tokens of a test")});
  std::vector<data::Token> tokens(count);
  for (data::Token& token : tokens) token = static_cast<data::Token>(stream.below(kVocabulary));
  return tokens;
}

/// Blocks of kLength inputs that overlap by half; the last one is `missing` tokens short.
inline data::TokenSet make_corpus(std::uint64_t blocks, std::uint32_t missing = 0) {
  data::TokenSet set{.vocabulary = kVocabulary, .length = kLength};
  const std::uint64_t stride = kLength / 2;
  for (std::uint64_t block = 0; block < blocks; ++block) {
    set.starts.push_back(block * stride);
    set.lengths.push_back(kLength + 1);
    set.bytes.push_back(kLength);
  }
  set.lengths.back() -= missing;
  set.tokens = random_tokens(set.starts.back() + kLength + 1);
  return set;
}

/// Texts of these many tokens in three classes.
inline data::TokenSet make_texts(const std::vector<std::uint32_t>& lengths) {
  data::TokenSet set{.vocabulary = kVocabulary, .length = kLength, .classes = 3};
  std::uint64_t start = 0;
  for (const std::uint32_t length : lengths) {
    set.starts.push_back(start);
    set.lengths.push_back(length);
    set.labels.push_back(static_cast<std::uint32_t>(start % 3));
    start += length;
  }
  set.tokens = random_tokens(start);
  return set;
}

}  // namespace impart::testing

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "impart/data/images/shapes.h"
#include "impart/data/text/tokenizer.h"

namespace impart::data {

/// The built-in corpus: blocks of letters, each from one of 8 sources. It needs no files, has any
/// size, and knows how hard each block is to predict, so that an importance notion can be compared
/// with the truth.
///
/// A source has an order of its own of the 32 letters, as a ring. The first token of a block is any
/// letter; every next one is a step further on the ring, and, with a probability that is the
/// source's own, another step, and so on. So one who knows the source still has to guess: from
/// about a third of a bit (source 0) to three and a half bits (source 7) for each token. All
/// letters are equally frequent in all sources, so that only the order of tokens tells them apart.
/// Some blocks have their tokens shuffled: nothing but the letters' frequency can be known of them,
/// log2(32) = 5 bits.
///
/// Block i depends on nothing but (seed, split, i, length), and is the same on every machine.

inline constexpr std::uint32_t kGeneratedSources = 8;
inline constexpr std::string_view kGeneratedLetters = " '-.?_abcdefghijklmnopqrstuvwxyz";
static_assert(kGeneratedLetters.size() == 32);

/// The share of blocks whose tokens are shuffled, in training and in testing.
inline constexpr double kShuffledShare = 0.05;

/// What is known of a block without looking at it.
struct GeneratedFacts {
  std::uint32_t source = 0;
  bool shuffled = false;
  /// From 0 to 1: the entropy of each next token for one who knows the source, over the largest
  /// there is; 1 if and only if the tokens are shuffled.
  float difficulty = 0;
};

/// Bits of entropy of each next token of a source.
double source_entropy(std::uint32_t source);

/// Fills `tokens`, numbers of letters, with block `index`.
GeneratedFacts write_generated_block(std::uint64_t seed, Split split, std::uint64_t index,
                                     std::span<Token> tokens);

}  // namespace impart::data

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "impart/data/text/tokenizer.h"

namespace impart::data {

/// The tokenizers themselves, from what they are made of: what kTokenizers and load_tokenizer
/// share.

TokenizerPtr byte_tokenizer(bool end_of_text);

/// `characters` are code points, strictly ascending. ConfigError if they are not, or no characters.
TokenizerPtr char_tokenizer(std::span<const std::uint32_t> characters, bool end_of_text);

/// Two neighbouring tokens, below 256 a byte, from there on the result of an earlier merge.
struct TokenPair {
  Token left = 0, right = 0;
  bool operator==(const TokenPair&) const = default;
};

/// Merge k makes token 256 + k. ConfigError if a pair has a token that is not yet made, or comes
/// twice.
TokenizerPtr bpe_tokenizer(std::span<const TokenPair> merges, bool end_of_text);

/// The pieces of tokens 0 to 255.
std::vector<std::string> single_bytes();

}  // namespace impart::data

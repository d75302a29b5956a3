#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "impart/data/text/token_kinds.h"

namespace impart::data {

/// Byte-pair encoding (Sennrich, Haddow, Birch 2016; over bytes as in GPT-2). A text is cut into
/// words (token_words.h). Learning starts with the bytes as tokens and makes, again and again, a
/// new token of the two neighbours that are most frequent inside words; of equally frequent pairs,
/// the one with the smallest left token, then the smallest right one. Encoding carries out the same
/// merges in the same order, each from left to right.
///
/// Tokens 0 to 255 are the bytes, so every text can be encoded, also what is not UTF-8. Merge k
/// makes token 256 + k; the last token is the end of text.

/// How often each word occurs. The words are views of the texts, which must stay.
using WordCounts = std::unordered_map<std::string_view, std::uint64_t>;

void count_words(std::string_view text, WordCounts& counts);

/// Learns at most so many merges, fewer if no pair is left that occurs twice. Depends on the counts
/// only, not on the order of texts or words. A merge costs time in proportion to the distinct words
/// that hold the pair, not to the text.
std::vector<TokenPair> learn_merges(const WordCounts& counts, std::uint32_t merges);

}  // namespace impart::data

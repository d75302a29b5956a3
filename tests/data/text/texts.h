#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "impart/core/random.h"
#include "impart/data/text/tokenizer.h"

namespace impart::testing {

inline RandomStream random_for(std::uint64_t seed) {
  return RandomStream({.seed = seed, .purpose = Purpose("text-test")});
}

inline std::string random_bytes(std::uint64_t count, std::uint64_t seed) {
  RandomStream random = random_for(seed);
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  return bytes;
}

/// Words of a few letters, so that pairs repeat and counts tie, with blanks, digits, signs and line
/// ends between them.
inline std::string random_prose(std::uint64_t words, std::uint64_t seed) {
  RandomStream random = random_for(seed);
  std::string text;
  for (std::uint64_t k = 0; k < words; ++k) {
    const std::uint64_t letters = 1 + random.below(7);
    for (std::uint64_t i = 0; i < letters; ++i) {
      text += static_cast<char>('a' + random.below(1 + random.below(5)));
    }
    constexpr std::string_view kBetween[] = {" ", " ", " ", "  ", ", ", ".\n", "\n\n", " 12", "é "};
    text += kBetween[random.below(9)];
  }
  return text;
}

inline data::TokenizerPtr tokenizer_of(std::string_view name, std::string_view text,
                                       std::uint32_t vocabulary = 400, bool end_of_text = false) {
  const data::CorpusText corpus{.text = text, .place = {.path = "corpus"}};
  return find_entry(data::kTokenizers, "tokenizer", name)
      .function({&corpus, 1}, {.vocabulary = vocabulary, .end_of_text = end_of_text});
}

}  // namespace impart::testing
